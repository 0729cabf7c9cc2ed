"""Hung tasks: all of them are interrupted or released by the page itself, since no slot may be left for a worker."""

from __future__ import annotations

import pytest
from django.test import Client

from console.actions import bulk
from console.models import AuditEntry
from queueops import inspect
from queueops.control.verbs import FREEING
from queueops.inspect import TaskQuery
from queueops.inspect.selection import Extent
from queueops.redis.broker import get_broker
from tests.console.test_mass import FAILED, states, told
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def test_all_that_hang_are_interrupted_or_released_at_once_by_the_page(desk: Desk, operator: Client) -> None:
    desk.push("a", "b", "c", "d")
    desk.claim(4)
    listed = operator.get("/ops/tasks/?state=locked").content.decode()
    assert all(
        f"/ops/tasks/{each}" in listed for each in ("_interrupt", "_release", "_all_interrupt?", "_all_release?")
    )
    assert "/ops/tasks/_interrupt" not in operator.get(FAILED).content.decode()
    ticked = {"task": ["default a", "default b"]}
    assert "its worker process is killed" in told(operator.post("/ops/tasks/_interrupt", ticked))
    assert "the task may run twice" in told(operator.post("/ops/tasks/_release", ticked))
    assert states("a", "b") == ["locked", "locked"]
    operator.post("/ops/tasks/_release", ticked | {"confirmed": "2"})
    assert states("a", "b", "c", "d") == ["pending", "pending", "locked", "locked"]
    question = told(operator.post("/ops/tasks/_all_interrupt?state=locked"))
    assert "Cancel and interrupt: all 2 tasks that match" in question
    assert "All of them can be changed." in question
    operator.post("/ops/tasks/_all_interrupt?state=locked", {"confirmed": "2"})
    running = [inspect.task(id) for id in "cd"]
    assert all(task is not None and task.cancel_requested for task in running)
    assert AuditEntry.objects.latest("pk").verb == "interrupt"


@pytest.mark.usefixtures("namespace")
def test_many_hung_tasks_are_freed_by_the_page_and_never_by_a_worker_that_may_have_no_slot() -> None:
    many = Extent(501, exact=True, sample=None)
    choices = [bulk.Matching(query=TaskQuery(state="locked"), extent=many, asked_ms=0, verb=verb) for verb in FREEING]
    assert [choice.in_parts and not choice.by_workers for choice in choices] == [True, True]
