"""The cost of a long list and of the overview: calls of Python functions, which no busy machine makes more."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from django.test import Client

from queueops import control
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk
from tests.support.seed_history import seed

FEW, MANY = 10, 45
NOW_MS = 1_700_000_000_000


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def calls(ask: Callable[[], Any]) -> int:
    """The number of functions that are called in this thread."""
    made = 0

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal made
        made += event == "call"

    sys.setprofile(count)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return made


def lanes(desk: Desk, count: int) -> None:
    for number in range(count):
        desk.push(f"task-{number}", lane=f"lane_{number}")
        control.set_lane("default", f"lane_{number}", limit=3)


def workers(desk: Desk, count: int) -> None:
    for number in range(count):
        facts = {"host": "web1", "pid": number, "slots": 8, "busy": 2, "state": "live", "pools": "default"}
        desk.broker.beat("default", f"w{number}", facts | {"started": NOW_MS, "version": "1"})


def names(desk: Desk, count: int) -> None:
    known = ",".join(f"shop.task_{number}" for number in range(count))
    facts = {"host": "web1", "pid": 1, "slots": 8, "busy": 2, "state": "live", "pools": "default"}
    desk.broker.beat("default", "w1", facts | {"started": NOW_MS, "version": "1", "names": known})


def tasks(desk: Desk, count: int) -> None:
    for number in range(count):
        desk.push(f"task-{number}", lane=f"lane_{number}")


@pytest.mark.parametrize(
    ("page", "fill", "most"),
    [
        ("lanes/", lanes, 1400),
        ("workers/", workers, 1600),
        ("tasks/", tasks, 450),
        ("registry/?f=shop.task_", names, 700),
    ],
)
def test_a_row_of_a_long_list_costs_few_calls(
    desk: Desk,
    administrator: Client,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    fill: Callable[[Desk, int], None],
    most: int,
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 600.0)  # no row pays for the status head
    cost = []
    for count in (FEW, MANY):
        fill(desk, count)
        answer = administrator.get(f"/ops/{page}")  # templates are loaded, and URLs are known
        cost.append((calls(lambda: administrator.get(f"/ops/{page}")), answer.content.count(b"data-row")))
    (low, few), (high, many) = cost
    assert (high - low) / (many - few) < most


def test_the_overview_costs_few_calls(desk: Desk, administrator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 600.0)
    monkeypatch.setattr("console.pages.history.READING_AGE_S", 0.0)
    lanes(desk, 50)
    workers(desk, 3)
    seed(desk.broker, "default", round(time.time() * 1000), days=1.1, names=5, lanes=12)
    desk.broker.draw("default", "w", 60_000)
    for page, most in (("", 28_000), ("_overview", 21_000)):
        ask = partial(administrator.get, f"/ops/{page}")
        assert b'class="spark"' in ask().content
        cost = [calls(ask) for _ in range(3)]
        assert min(cost) < most, cost  # a step of the history may have ended before one of them
