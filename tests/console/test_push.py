"""Push of a task from its page, with a form of its signature; and of a copy of a task."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, Literal

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from console.models import AuditEntry
from queueops import inspect, task
from queueops.inspect import TaskQuery
from queueops.tasks import registry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]
FORM, PUSH = "/ops/registry/shop.pay/push/", "/ops/registry/shop.pay/_push"


@pytest.fixture(autouse=True)
def pay() -> Iterator[None]:
    @task(name="shop.pay", pool="mail")
    def pay(
        order: int,
        day: date,
        note: str | None = None,
        mode: Literal["card", "cash"] = "card",
        sure: bool = False,
        *rest: int,
        **more: Any,
    ) -> None:
        """Pay an order."""

    yield
    registry.unregister("task", pay.name)


@pytest.fixture
def pusher(operator: Client) -> Client:
    """An operator with the permission to push."""
    User.objects.get(username="operators").user_permissions.add(Permission.objects.get(codename="push"))
    return operator


def told(answer: Any) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", answer.content.decode())).split())


def palette(client: Client, text: str) -> str:
    return str(client.get("/ops/_palette", {"q": text}).content.decode())


def pushed() -> list[Any]:
    return [inspect.task(row.id, row.pool) for row in inspect.tasks(TaskQuery(name="shop.pay")).rows]


def test_a_task_is_pushed_with_typed_arguments_and_options(pusher: Client) -> None:
    page = pusher.get(FORM).content.decode()
    assert f'href="{FORM}"' in palette(pusher, "push shop.p")
    assert 'data-fill="push "' in palette(pusher, "pus")
    assert f'href="{FORM}"' in pusher.get("/ops/find/", {"q": "push shop.pay"}).content.decode()
    assert 'href="/ops/registry/shop.pay/push/"' in pusher.get("/ops/registry/shop.pay/").content.decode()
    assert all(f'name="p-{each}"' in page for each in ("order", "day", "note", "mode", "sure", "rest", "more"))
    sent = {"p-order": "7", "p-day": "2026-11-28", "p-mode": '"cash"', "p-more": '{"a": 1}', "lane": "slow"}
    sent |= {"priority": "5", "delay": "60", "id": "once", "reason": "asked by a user"}
    for _ in range(2):  # a click twice pushes once
        assert pusher.post(PUSH, sent).status_code == 302
    (found,) = pushed()
    assert (found.id, found.pool, found.lane, found.priority, found.state) == ("once", "mail", "slow", 5, "postponed")
    assert json.loads(found.args_json) == [[], {"order": 7, "day": "2026-11-28", "mode": "cash", "a": 1}]
    entry = AuditEntry.objects.earliest("pk")
    assert (entry.verb, entry.target, entry.reason) == ("push", "shop.pay", "asked by a user")
    assert "2026-11-28" in entry.after["args"]


def test_what_is_wrong_stands_at_its_field_and_nothing_is_pushed(pusher: Client) -> None:
    right = {"p-order": "7", "p-day": "2026-11-28"}

    def wrong(**changed: str) -> dict[str, str]:
        answer = pusher.post(PUSH, right | {name.replace("p_", "p-"): text for name, text in changed.items()})
        assert answer.status_code == 422
        found = re.findall(r'id="wrong-([\w-]+)"[^>]*>([^<]*)<', answer.content.decode())
        return {name: html.unescape(text) for name, text in found}

    assert wrong(p_day="") == {"p-day": "day must be given."}
    assert "Expected `int`, got `str`" in wrong(p_order="seven")["p-order"]
    assert "Invalid" in wrong(p_day="tomorrow")["p-day"]
    assert wrong(priority="500").keys() == {"priority"}
    assert wrong(lane="a b").keys() == {"lane"}
    assert "Write a JSON list" in wrong(p_rest="1")["p-rest"]
    assert "Replace each" in wrong(p_order="[redacted]")["p-order"]
    assert pushed() == []


def test_a_copy_of_a_task_is_pushed_with_its_arguments(pusher: Client) -> None:
    pusher.post(PUSH, {"p-order": "7", "p-day": "2026-11-28", "id": "first", "p-note": "hello"})
    page = pusher.get("/ops/tasks/first/?pool=mail").content.decode()
    copy = f"{FORM}?task=first&amp;pool=mail"
    assert f'href="{copy}"' in page
    form = pusher.get(html.unescape(copy)).content.decode()
    assert 'name="p-order" value="7"' in form
    assert 'name="p-note" value="hello"' in form


def test_only_the_permission_to_push_opens_the_form(client_of: Callable[..., Client], operator: Client) -> None:
    for client in (operator, client_of("administrators")):  # groups that exist gain nothing
        assert FORM not in palette(client, "push shop.pay")
        assert 'data-fill="push "' not in palette(client, "push")
        assert "/push/" not in client.get("/ops/registry/shop.pay/").content.decode()
        assert client.post(PUSH, {"p-order": "7", "p-day": "2026-11-28"}).status_code == 403
    assert pushed() == []
    assert AuditEntry.objects.latest("pk").verb == "push"
