"""Errors of earlier attempts: a list and a page mark them where they are not the reason of the state."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.composites.trees import group_of, plant
from tests.inspecting.errors import stored
from tests.inspecting.test_queue_command import queue
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
MARK = "Earlier attempt: boom"


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def fail(desk: Desk, id: str, delay_ms: int) -> None:
    """Let the attempt of a task fail."""
    (lease,) = desk.claim(1)
    assert lease.id == id
    desk.settle(lease, Outcome.ERROR, delay_ms=delay_ms, **stored(kind="boom", message="all is lost"))


@pytest.mark.parametrize("state", ["succeeded", "locked", "failed", "restart"])
def test_the_error_of_an_earlier_attempt_is_marked(desk: Desk, operator: Client, state: str) -> None:
    plant(desk, group_of("g", "a"))
    desk.client.hset(desk.keys.task("a"), "r", 1)
    fail(desk, "a", -1 if state == "failed" else 60_000)
    if state in ("succeeded", "locked"):
        desk.control("retry", "a")
        (lease,) = desk.claim(1)
        if state == "succeeded":
            desk.settle(lease)
    is_earlier = state in ("succeeded", "locked")
    listed = operator.get("/ops/tasks/", {"kind": "task"}).content.decode()
    assert (MARK in listed) is is_earlier
    assert ('class="under bad"' in listed) is not is_earlier
    page = html.unescape(operator.get("/ops/tasks/a/").content.decode())
    assert (MARK in page) is is_earlier
    assert ("card-bad" in page) is not is_earlier
    assert (MARK in operator.get("/ops/tasks/g/children/").content.decode()) is is_earlier
    for shown in (queue("list", f"state:{state}"), queue("tree", "g")):
        assert "boom" in shown
        assert ("earlier attempt: boom" in shown) is is_earlier
    assert ("error of an earlier attempt:" in queue("show", "a")) is is_earlier
