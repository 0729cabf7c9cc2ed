"""The cost of a long list: calls of Python functions a row, which no busy machine makes more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from django.test import Client

from queueops import control
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk

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
