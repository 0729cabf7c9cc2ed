"""Logging in and out, what a browser remembers, and where one is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from console.access.login_throttle import MOST_BY_PAIR
from console.models import LoginThrottle
from tests.console.standin import World

pytestmark = pytest.mark.django_db
EVIL = [
    "//evil.example",
    "https://evil.example",
    "https:evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
    "///evil.example",
    "\\\\evil",
    " //evil",
    "/\t/evil.example",
    "http:///evil",
]


@pytest.fixture
def ada() -> User:
    user = User.objects.create_user("ada", password="correct horse")
    user.groups.add(*user.groups.model.objects.filter(name="operators"))
    return user


def log_in(client: Client, password: str = "correct horse", name: str = "ada", **more: Any) -> Any:
    return client.post("/ops/login/", {"username": name, "password": password} | more)


def test_a_login_leads_to_where_one_wanted_to_go(ada: User, client: Client, world: World) -> None:
    page = client.get("/ops/tasks/?state=failed")
    assert page.headers["Location"] == "/ops/login/?next=%2Fops%2Ftasks%2F%3Fstate%3Dfailed"
    before = client.session.session_key
    assert log_in(client, next="/ops/tasks/?state=failed").headers["Location"] == "/ops/tasks/?state=failed"
    assert client.session.session_key != before
    assert client.get("/ops/tasks/?state=failed").status_code == 200


def test_a_project_that_lets_nobody_in_without_a_login_leaves_that_to_the_console(
    ada: User, client: Client, world: World, settings: Any
) -> None:
    required = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, required]
    assert client.get("/ops/tasks/").headers["Location"] == "/ops/login/?next=%2Fops%2Ftasks%2F"
    assert client.get("/ops/login/").status_code == 200
    assert client.get("/ops/_overview", headers={"HX-Request": "true"}).status_code == 401
    assert log_in(client).headers["Location"] == "/ops/"
    assert client.get("/ops/tasks/").status_code == 200


@pytest.mark.parametrize("address", EVIL)
def test_nobody_is_sent_to_another_site(address: str, ada: User, client: Client, world: World) -> None:
    assert log_in(client, next=address).headers["Location"] == "/ops/"
    for path, form in (("/ops/settings/_save", {"theme": "dark"}), ("/ops/tasks/task-1/_retry", {"pool": "default"})):
        location = client.post(path, form | {"next": address}).headers["Location"]
        assert location.startswith("/ops/")


def test_a_wrong_password_and_an_unknown_name_are_told_alike(ada: User, client: Client) -> None:
    texts = [log_in(client, "wrong").content.decode(), log_in(client, "wrong", "nobody").content.decode()]
    for text in texts:
        assert "correct username and password" in text


def test_too_many_failures_of_one_name_have_to_wait(ada: User, client: Client) -> None:
    for _ in range(MOST_BY_PAIR):
        assert log_in(client, "wrong", "Ada").status_code == 200
    answer = log_in(client)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 301
    assert log_in(client, "wrong", "somebody else").status_code == 200
    LoginThrottle.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert log_in(client).status_code == 302


def links_of(answer: Any) -> set[str]:
    """Where the links and forms of a page lead, its style sheets and scripts aside."""
    return set(re.findall(r'(?:href|action)="(/ops/[^"]*)"', answer.content.decode()))


def test_a_refusal_before_the_login_leads_only_to_the_login(ada: User, client: Client, world: World) -> None:
    for _ in range(MOST_BY_PAIR):
        log_in(client, "wrong")
    for answer, status in ((log_in(client), 429), (client.put("/ops/login/"), 405)):
        assert answer.status_code == status
        assert links_of(answer) == {"/ops/login/"}
        assert "Logged in as" not in answer.content.decode()
        assert 'class="namespace"' not in answer.content.decode()
    client.force_login(ada)
    assert {"/ops/", "/ops/tasks/", "/ops/logout/"} <= links_of(client.get("/ops/nothing/"))


def test_logging_out_is_a_post(ada: User, client: Client, world: World) -> None:
    log_in(client)
    assert client.get("/ops/logout/").status_code == 405
    assert client.get("/ops/").status_code == 200
    assert client.post("/ops/logout/").status_code == 302
    assert client.get("/ops/").status_code == 302


def test_a_project_with_a_login_of_its_own_keeps_it(client: Client, settings: Any) -> None:
    settings.LOGIN_URL = "/sso/"
    assert client.get("/ops/").headers["Location"] == "/sso/?next=%2Fops%2F"
    settings.LOGIN_URL = "https://id.example/in?realm=ops"
    back = "http%3A%2F%2Ftestserver%2Fops%2Ftasks%2F%3Fstate%3Dfailed"
    assert client.get("/ops/tasks/?state=failed").headers["Location"] == f"https://id.example/in?realm=ops&next={back}"


@pytest.mark.parametrize("named", ["/sso/", "/accounts/login/"])
def test_no_password_leads_past_the_login_of_the_project(named: str, ada: User, client: Client, settings: Any) -> None:
    settings.LOGIN_URL = named
    assert client.get("/ops/login/?next=/ops/tasks/").headers["Location"] == f"{named}?next=%2Fops%2Ftasks%2F"
    assert log_in(client, next="https://evil.example").headers["Location"] == f"{named}?next=%2Fops%2F"
    assert "sessionid" not in client.cookies
    client.force_login(ada)
    assert client.post("/ops/logout/").headers["Location"] == named


def test_a_project_may_name_the_console_s_own_login(ada: User, client: Client, settings: Any, world: World) -> None:
    settings.LOGIN_URL, settings.LOGOUT_REDIRECT_URL = "console:login", "/bye/"
    assert client.get("/ops/").headers["Location"] == "/ops/login/?next=%2Fops%2F"
    assert client.get("/ops/login/").status_code == 200
    assert log_in(client).headers["Location"] == "/ops/"
    assert client.post("/ops/logout/").headers["Location"] == "/bye/"


CHOICES = {
    "theme": "dark",
    "rows": "compact",
    "zone": "Asia/Tokyo",
    "pace": "5",
    "keys": "off",
}


def test_the_choices_are_kept_in_cookies_that_no_script_reads(operator: Client, world: World) -> None:
    answer = operator.post("/ops/settings/_save", dict(CHOICES))
    assert {name: cookie.value for name, cookie in answer.cookies.items()} == {
        f"queueops_{name}": value for name, value in CHOICES.items()
    }
    assert all(cookie["httponly"] and cookie["samesite"] == "Lax" for cookie in answer.cookies.values())
    page = operator.get("/ops/tasks/task-1/").content.decode()
    assert 'data-bs-theme="dark"' in page
    assert 'data-pace="5"' in page
    assert 'data-keys="off"' in page
    assert 'data-density="compact"' in page
    assert "JST" in page


@pytest.mark.parametrize("zone", ["", "Nowhere/Else", "../etc/passwd", "<b>", "x" * 999])
def test_a_choice_that_is_none_is_the_default(zone: str, operator: Client, world: World) -> None:
    operator.cookies.load({"queueops_zone": zone, "queueops_theme": "<b>", "queueops_pace": "0.001"})
    page = operator.get("/ops/").content.decode()
    assert 'data-theme-choice="auto"' in page
    assert 'data-pace="2"' in page
    assert "Times in UTC" in page


def test_one_choice_leaves_the_others(operator: Client, world: World) -> None:
    operator.post("/ops/settings/_save", {"zone": "Asia/Tokyo"})
    answer = operator.post("/ops/settings/_save", {"theme": "dark", "next": "/ops/tasks/?state=failed"})
    assert answer.headers["Location"] == "/ops/tasks/?state=failed"
    assert "Asia/Tokyo" in operator.get("/ops/settings/").content.decode()
    assert answer.cookies["queueops_zone"].value == "Asia/Tokyo"


@contextmanager
def changed(change: str, back: str) -> Iterator[None]:
    """Change the table of login attempts in this block."""
    for_table = f"ALTER TABLE {LoginThrottle._meta.db_table}"
    with connection.cursor() as cursor:
        cursor.execute(f"{for_table} {change}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(back.format(for_table))


@pytest.mark.django_db(transaction=True)
def test_a_login_without_migrations_says_what_to_run(client: Client) -> None:
    with changed("RENAME TO elsewhere", f"ALTER TABLE elsewhere RENAME TO {LoginThrottle._meta.db_table}"):
        answer = log_in(client)
    assert answer.status_code == 503
    assert "Run `manage.py migrate`, then try again." in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_another_error_of_the_database_stays_one(client: Client) -> None:
    with changed("RENAME COLUMN used TO other", "{} RENAME COLUMN other TO used"), pytest.raises(OperationalError):
        log_in(client)
