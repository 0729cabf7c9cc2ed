"""Sentences of the engine, on pages in a language that a catalog has."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client

from console.ui.language import SIGN
from queueops import inspect
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk
from tests.support.catalogs import german

pytestmark = pytest.mark.django_db
CATALOG = {
    SIGN: "Leitstand",
    "Lane %(lane)s of pool %(pool)s is paused; %(tasks)s.": "Lane %(lane)s ist pausiert (Pool %(pool)s); %(tasks)s.",
    "%(n)s task waits": "%(n)s Task wartet",
    "%(n)s tasks wait": "%(n)s Tasks warten",
    "Its lane %(lane)s is paused.": "Seine Lane %(lane)s ist pausiert.",
    "Pool %(pool)s: %(n)s follow-up could not be pushed.": "Pool %(pool)s: %(n)s Follow-up blieb aus.",
    "The last one: %(error)s": "Zuletzt: %(error)s",
    "%(n)s follow-up could not be pushed in the last hour.": "%(n)s Follow-up blieb in der letzten Stunde aus.",
}
GERMAN = {"Accept-Language": "de"}


@pytest.fixture(autouse=True)
def catalog(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    with german(lambda message: CATALOG.get(message, message)):
        yield


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A paused lane with a task, and its name is hostile."""
    desk = Desk(get_broker())
    desk.tick()
    desk.broker.beat("default", "w1", {"names": "", "slots": 1})
    desk.push("a", lane="<b>")
    desk.broker.lane("default", "<b>", paused=1)
    return desk


def page(client: Client, path: str, **headers: str) -> str:
    return client.get(f"/ops/{path}", headers=headers).content.decode()


def test_an_alarm_and_a_check_are_in_the_language_of_the_reader(desk: Desk, operator: Client) -> None:
    head = page(operator, "tasks/", **GERMAN)
    assert "Lane &lt;b&gt; ist pausiert (Pool default); 1 Task wartet." in head
    assert "Lane &lt;b&gt; of pool" not in head
    why = page(operator, "tasks/a/why/", **GERMAN)
    assert "Seine Lane &lt;b&gt; ist pausiert." in why


def test_a_reader_of_english_and_a_program_get_english(desk: Desk, operator: Client) -> None:
    english = "Lane <b> of pool default is paused; 1 task waits."
    assert english in unescape(page(operator, "tasks/", **{"Accept-Language": "en"}))
    assert english in [alarm.text for alarm in inspect.status().alarms]


def test_a_language_without_the_console_gets_no_mixture(desk: Desk, operator: Client, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("fr", "French")]
    head = page(operator, "tasks/", **{"Accept-Language": "fr"})
    assert "Lane &lt;b&gt; of pool default is paused; 1 task waits." in head


def test_secrets_in_values_are_masked(desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"dead_follow_ups": 1, "dead_follow_up_reason": "redis://u:hunter2@h refused token=hunter2"}
    module = inspect.snapshot.__globals__
    counted = module["completed"]

    def completed(*args: Any) -> tuple[dict[str, Any], bool]:
        return {pool: found | told for pool, found in counted(*args)[0].items()}, False

    monkeypatch.setitem(module, "completed", completed)
    overview = page(operator, "", **GERMAN)
    assert "Pool default: 1 Follow-up blieb aus. Zuletzt: redis://u:***@h refused token=[redacted]" in overview
    assert "hunter2" not in overview
