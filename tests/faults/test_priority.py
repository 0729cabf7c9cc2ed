"""Priorities, with real workers: what is urgent overtakes what waits; of equals the first one comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import TaskHandle, task_named
from tests.faults import tasks
from tests.faults.conftest import UNHURRIED, Bench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def order(bench: Bench) -> list[str]:
    """The ids of the tasks, as they were started."""
    return [line.id for line in bench.ledger.lines("start")]


def test_tasks_start_by_priority_and_among_equals_in_the_order_of_their_push(bench: Bench) -> None:
    pushed = {priority: [] for priority in (-100, 0, 7, 100)}
    for _ in range(10):
        for priority, handles in pushed.items():
            handles.append(tasks.work.using(priority=priority).push())
    bench.worker("--threads", "1")
    everything = [handle for handles in pushed.values() for handle in handles]
    bench.wait(everything)
    wanted = [handle.id for priority in (100, 7, 0, -100) for handle in pushed[priority]]
    assert order(bench) == wanted


NAMED = task_named(tasks.wait_at_gate.name)
WAYS: dict[str, Callable[[], list[TaskHandle[Any]]]] = {
    "one by one": lambda: [tasks.wait_at_gate.using(priority=6).push("none") for _ in range(3)],
    "many": lambda: tasks.wait_at_gate.using(priority=6).push_many([("none",)] * 3),
    "by name": lambda: NAMED.using(priority=6).push_many([("none",)] * 3),
    "postponed": lambda: [tasks.wait_at_gate.using(priority=6).postpone(0.01, "none") for _ in range(3)],
}


@pytest.mark.parametrize("way", WAYS)
def test_an_urgent_task_overtakes_forty_that_wait(bench: Bench, way: str) -> None:
    bench.ledger.close("slots")
    bench.worker("--threads", "2", LEASE=UNHURRIED)
    running = [tasks.wait_at_gate.push("slots") for _ in range(2)]
    for handle in running:
        bench.started(handle)
    waiting = tasks.wait_at_gate.using(priority=5).push_many([("none",)] * 40)
    urgent = WAYS[way]()
    bench.watchdog()  # both threads are busy: it brings what was postponed
    wait_until(lambda: {handle.state for handle in urgent} == {"pending"})
    held = sum(handle.state == "active" for handle in waiting)  # fetched ahead before the urgent ones came
    assert held <= 2
    bench.ledger.open("slots")
    bench.wait([*running, *urgent, *waiting])
    started = order(bench)
    last = max(started.index(handle.id) for handle in urgent)
    beside = 1  # the other thread may write its line first
    assert last < len(running) + len(urgent) + held + beside, "before them came what the worker held already"


def test_a_task_may_say_a_priority_and_a_push_another_one_of_nought(bench: Bench) -> None:
    bench.ledger.close("slot")
    bench.worker("--threads", "1", LEASE=UNHURRIED)
    bench.started(tasks.wait_at_gate.push("slot"))
    low = tasks.work.using(priority=-1).push()
    usual = [tasks.urgent.using(priority=0).push(), tasks.work.push()]
    high = tasks.urgent.push()
    bench.ledger.open("slot")
    bench.wait([low, *usual, high])
    assert order(bench)[1:] == [high.id, *(handle.id for handle in usual), low.id]


def test_a_task_that_is_made_urgent_while_it_waits_overtakes_the_others(bench: Bench) -> None:
    bench.ledger.close("slot")
    bench.worker("--threads", "1", LEASE=UNHURRIED)
    bench.started(tasks.wait_at_gate.push("slot"))
    waiting = tasks.work.push_many([()] * 20)
    assert [row.word for row in bench.broker.control("default", "priority", [waiting[-1].id], value=50)] == ["OK"]
    bench.ledger.open("slot")
    bench.wait(waiting)
    assert order(bench)[1:3].count(waiting[-1].id) == 1
