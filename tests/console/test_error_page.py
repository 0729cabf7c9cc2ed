"""The page of an error group: its figures and its tasks are live, and come from one reading."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from queueops import inspect
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
PAGE = "/ops/errors/f1/"


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def fail(desk: Desk, *ids: str) -> None:
    """Tasks that have failed with one error."""
    desk.push(*ids)
    for lease in desk.claim(len(ids)):
        desk.settle(lease, "error", b'{"type": "E", "message": "m"}', fingerprint="f1", delay_ms=-1)  # type: ignore[arg-type]


def live_url(page: str) -> str:
    """The address of the live update in a page."""
    return html.unescape(page.split('hx-get="/ops/errors/f1/_live')[1].split('"')[0])


def failed(page: str) -> str:
    """The figure of the failed tasks."""
    found = re.search(r"<dt>Failed tasks</dt><dd>(.*?)</dd>", page)
    assert found
    return found[1]


def test_the_tasks_of_an_error_are_live_with_their_number(
    desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.errors.READING_AGE_S", 0.0)
    fail(desk, "a", "b")
    page = viewer.get(PAGE).content.decode()
    live = f"{PAGE}_live{live_url(page)}"
    assert viewer.get(live).status_code == 204
    fail(desk, "c")
    desk.control("retry", "a")
    fresh = viewer.get(live).content.decode()
    assert failed(fresh) == "2"
    assert "2 new or changed: show" in fresh
    assert re.findall(r'href="/ops/tasks/(\w)/', fresh.split("<tbody>")[1].split("</tbody>")[0]) == ["b", "a"]
    assert "now" in fresh
    page = viewer.get(PAGE).content.decode()
    assert re.findall(r'href="/ops/tasks/(\w)/', page.split("<tbody>")[1])[:2] == ["c", "b"]


def test_the_number_of_failed_tasks_is_of_the_reading_of_the_list(
    desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(desk, "a", "b")
    read = inspect.errors

    def late(limit: int = 100) -> object:
        found = read(limit)
        fail(desk, "c")
        return found

    monkeypatch.setattr(inspect, "errors", late)
    page = viewer.get(PAGE).content.decode()
    assert failed(page) == "3"
    assert page.count("data-row") == 3


def test_an_error_without_message_and_traceback_is_no_empty_box(desk: Desk, viewer: Client) -> None:
    desk.push("a")
    desk.settle(desk.lease(), Outcome.ERROR, b'{"type": "E"}', fingerprint="f1", title="E", delay_ms=-1)
    assert "No message and no traceback are kept" in viewer.get("/ops/errors/f1/").content.decode()


def test_the_traceback_of_an_error_stands_above_its_many_tasks(desk: Desk, viewer: Client) -> None:
    fail(desk, "a", "b")
    page = viewer.get(PAGE).content.decode()
    assert "All tasks with this error" not in page  # it would lead to this page
    assert page.index("card-bad") < page.index('id="history"') < page.index('id="error-live"')


def test_the_figures_of_an_error_stand_first(desk: Desk, operator: Client) -> None:
    fail(desk, "a")
    page = operator.get(PAGE).content.decode()
    assert page.index('id="error-figures"') < page.index("Triage</h2>") < page.index("card-bad")
    assert page.count('id="error-figures"') == 1
