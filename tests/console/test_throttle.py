"""How many tries to log in are checked: by address and name, by address, by name, and by browser."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from console.access.login_throttle import COOKIE, MOST_BY_ADDRESS, MOST_BY_NAME, MOST_BY_PAIR, folded
from console.models import LoginThrottle
from tests.support.webserver import WebServer, cookies_of

GOOD = "correct horse"
SPELLINGS = ("ada", "Ada", "\uff41da", "a\uff44a", "\u24d0da", "ad\u00aa", " ada ", "\U0001d41ada", "ADA", "ad\u200ba")


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password=GOOD)


@pytest.fixture
def checked(db: None) -> Iterator[list[str]]:
    """The names whose password was checked and found wrong."""
    names: list[str] = []

    def hear(credentials: dict[str, Any], **_: Any) -> None:
        names.append(credentials["username"])

    user_login_failed.connect(hear)
    yield names
    user_login_failed.disconnect(hear)


def log_in(client: Client, password: str = GOOD, name: str = "ada") -> int:
    return client.post("/ops/login/", {"username": name, "password": password}).status_code


def at(address: str) -> Client:
    return Client(REMOTE_ADDR=address)


def guess(client: Client, count: int, name: str = "ada") -> list[int]:
    return [log_in(client, "wrong", name) for _ in range(count)]


@given(st.text(max_size=150) | st.sampled_from(SPELLINGS))
def test_each_spelling_that_django_takes_for_one_name_is_one_name_here(name: str) -> None:
    assert folded(name) == folded(UsernameField(max_length=150).to_python(name))
    assert folded(name) == folded(folded(name))


@pytest.mark.parametrize("name", ["jos\u00e9", "jose\u0301", "JOS\u00c9", "\uff4aose", "j\u200bose"])
def test_what_a_database_may_take_for_one_name_is_one_name_here(name: str) -> None:
    assert folded(name) == "jose"


def test_other_spellings_of_a_name_share_its_limit(ada: User, checked: list[str]) -> None:
    client = at("192.0.2.8")
    for number in range(4 * MOST_BY_PAIR):
        log_in(client, "wrong", SPELLINGS[number % len(SPELLINGS)])
    assert len(checked) == MOST_BY_PAIR
    assert log_in(client) == 429


@pytest.mark.faults
def test_parallel_tries_cannot_pass_the_limit(tmp_path: Path) -> None:
    with WebServer(tmp_path) as server, ThreadPoolExecutor(16) as threads:
        tries = [threads.submit(server.log_in, SPELLINGS[n % 4], "wrong") for n in range(40)]
        statuses = sorted(each.result().status for each in tries)
        assert statuses == [200] * MOST_BY_PAIR + [429] * (40 - MOST_BY_PAIR)
        refused = server.log_in("ada", GOOD)
        assert (refused.status, 0 < int(refused.headers["Retry-After"]) <= 301) == (429, True)
        with closing(sqlite3.connect(tmp_path / "data" / "db.sqlite3")) as database, database:
            database.execute("UPDATE queueops_console_loginthrottle SET until = '2000-01-01 00:00:00'")
        welcome = server.log_in("ada", GOOD)
        assert welcome.status == 302
        guesses = [threads.submit(server.log_in, "ada", "wrong") for _ in range(2 * MOST_BY_PAIR)]
        assert [each.result().status for each in guesses].count(200) == MOST_BY_PAIR
        assert server.log_in("ada", GOOD).status == 429
        assert server.log_in("ada", GOOD, cookies_of(welcome, COOKIE)).status == 302


def test_guesses_of_one_address_shut_out_nobody_elsewhere(ada: User) -> None:
    assert guess(at("192.0.2.8"), MOST_BY_PAIR + 1)[-1] == 429
    assert log_in(at("192.0.2.8")) == 429
    assert log_in(at("192.0.2.9")) == 302


def test_one_address_has_a_limit_for_all_names(ada: User, checked: list[str]) -> None:
    near = at("192.0.2.8")
    for number in range(MOST_BY_ADDRESS + 5):
        log_in(near, "wrong", f"name-{number}")
    assert len(checked) == MOST_BY_ADDRESS
    assert log_in(near) == 429
    assert log_in(at("192.0.2.9")) == 302


def test_one_name_has_a_limit_for_all_addresses(ada: User, checked: list[str]) -> None:
    for number in range(MOST_BY_NAME + 5):
        log_in(at(f"192.0.2.{number}"), "wrong")
    assert len(checked) == MOST_BY_NAME
    assert log_in(at("198.51.100.1")) == 429


def test_the_addresses_of_one_ipv6_network_are_one(ada: User, checked: list[str]) -> None:
    for number in range(1, MOST_BY_PAIR + 5):
        log_in(at(f"2001:db8::{number:x}"), "wrong")
    assert len(checked) == MOST_BY_PAIR
    assert log_in(at("2001:db8:0:1::1")) == 302


def test_an_address_that_is_known_is_shut_out_by_nobody_else(ada: User) -> None:
    home, office = at("192.0.2.250"), at("192.0.2.251")
    assert (log_in(home), log_in(office)) == (302, 302)
    for number in range(MOST_BY_NAME):
        log_in(at(f"192.0.2.{number}"), "wrong")
    guess(at("192.0.2.251"), MOST_BY_ADDRESS, name="somebody")
    assert log_in(at("192.0.2.249")) == 429
    assert log_in(at("192.0.2.250")) == 302
    assert log_in(at("192.0.2.251")) == 302


def test_a_browser_that_is_known_is_not_shut_out_by_guesses_from_its_own_address(ada: User) -> None:
    known, other = at("192.0.2.8"), at("192.0.2.8")
    assert log_in(known) == 302
    guess(other, MOST_BY_PAIR)
    assert log_in(other) == 429
    known.cookies.pop("sessionid")
    assert log_in(known) == 302


def test_a_browser_that_is_known_has_a_limit_too(ada: User, checked: list[str]) -> None:
    known = at("192.0.2.8")
    log_in(known)
    known.cookies.pop("sessionid")
    assert guess(known, MOST_BY_PAIR + 1)[-1] == 429
    assert len(checked) == MOST_BY_PAIR
    assert log_in(at("192.0.2.8")) == 302


def test_a_browser_is_known_for_one_name_only(ada: User) -> None:
    User.objects.create_user("eve", password=GOOD)
    eve = at("192.0.2.8")
    assert log_in(eve, name="eve") == 302
    eve.cookies.pop("sessionid")
    guess(eve, MOST_BY_PAIR)
    assert log_in(eve) == 429


def test_a_browser_that_is_known_by_one_name_passes_no_limit_of_another(ada: User) -> None:
    User.objects.create_user("eve", password=GOOD)
    eve = at("192.0.2.8")
    assert log_in(eve, name="eve") == 302
    eve.cookies.pop("sessionid")
    guess(at("192.0.2.8"), MOST_BY_PAIR)
    assert log_in(eve) == 429


def test_a_cookie_that_nobody_signed_is_no_known_browser(ada: User) -> None:
    client = at("192.0.2.8")
    log_in(client)
    forged = at("192.0.2.8")
    forged.cookies.load({COOKIE: client.cookies[COOKIE].value.replace(":", "0:", 1)})
    guess(forged, MOST_BY_PAIR)
    assert log_in(forged) == 429


def test_the_cookie_of_a_known_browser_goes_to_the_login_page_alone(ada: User) -> None:
    client = Client()
    answer = client.post("/ops/login/", {"username": "ada", "password": GOOD}, secure=True)
    cookie = answer.cookies[COOKIE]
    assert (cookie["path"], cookie["httponly"], cookie["secure"], cookie["samesite"]) == (
        "/ops/login/", True, True, "Lax",
    )  # fmt: skip
    assert "ada" not in cookie.value


def test_a_success_does_not_count(ada: User) -> None:
    for _ in range(MOST_BY_PAIR + 1):
        assert log_in(at("192.0.2.8")) == 302
    assert guess(at("192.0.2.8"), MOST_BY_PAIR) == [200] * MOST_BY_PAIR


@pytest.mark.parametrize("proxy", ["127.0.0.1", "::1", "::ffff:127.0.0.1", ""])
def test_nobody_shuts_all_out_who_come_through_a_proxy_of_this_machine(proxy: str, ada: User) -> None:
    client = at(proxy)
    for number in range(MOST_BY_ADDRESS):
        log_in(client, "wrong", f"name-{number}")
    assert log_in(client) == 302


def test_the_tries_of_a_window_that_has_ended_count_no_more_and_are_forgotten(ada: User) -> None:
    client = at("192.0.2.8")
    assert guess(client, MOST_BY_PAIR + 1)[-1] == 429
    LoginThrottle.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert log_in(client, "wrong", "somebody") == 200
    assert LoginThrottle.objects.count() == 3  # its pair, its address, its name
    assert log_in(client) == 302


def test_what_was_typed_is_not_kept_not_even_as_a_plain_digest(ada: User) -> None:
    import hashlib

    log_in(at("192.0.2.8"), "hunter2", "secret-name")
    digest = hashlib.sha256(b"secret-name").hexdigest()
    keys = "".join(LoginThrottle.objects.values_list("key", flat=True))
    assert not any(text in keys for text in ("secret-name", "hunter2", "192.0.2.8", digest))
