"""The overview of a new installation: what it lacks, with the commands; and figures beside those of yesterday."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from console.pages.overview.stats import is_quiet
from console.ui.comparison import compared
from console.ui.formatting import share
from queueops import inspect, task
from queueops.inspect import LaneRow, Trend
from queueops.testing import run_worker

pytestmark = pytest.mark.django_db


@task()
def hello(name: str) -> str:
    return f"Hello {name}"


def steps(viewer: Client) -> list[bool]:
    """Of each step that is shown, whether it is done."""
    page = viewer.get("/ops/").content.decode()
    return ["step-done" in item for item in re.findall(r"<li[^>]*>(?=<p>(?:<svg|<span class=.step-number))", page)]


def test_a_new_installation_is_told_its_first_steps_until_a_task_has_ended(namespace: str, viewer: Client) -> None:
    page = viewer.get("/ops/").content.decode()
    assert steps(viewer) == [False, False, False]
    for command in ("python manage.py runworker", "python manage.py watchdog", "hello.push("):
        assert command in page
    handle = hello.push("Ada")
    assert steps(viewer) == [False, False, True]
    run_worker()
    assert handle.result(timeout=0) == "Hello Ada"
    assert steps(viewer) == []
    assert inspect.snapshot().computed


def test_a_figure_says_how_it_changed_since_yesterday() -> None:
    bad = str(compared(3.0, 2.0, "2.0/s", "up"))
    assert 'class="change-bad"' in bad
    assert re.sub("<[^>]*>", "", bad) == "▲higher by 50% 2.0/s yesterday"
    assert 'class="change-good"' in str(compared(1.0, 2.0, "2.0/s", "up"))
    assert 'class=""' in str(compared(1.0, 2.0, "2.0/s"))
    assert "higher by 20×" in re.sub("<[^>]*>", "", str(compared(40, 2, "2")))
    for now, was in ((2.0, 2.05), (None, 2.0), (2.0, None), (2.0, 0)):
        assert str(compared(now, was, "x")) == '<small class="figure-more">x yesterday</small>'
    assert [share(part) for part in (None, 0, 0.0001, 0.0217, 0.0996, 1)] == ["–", "0%", "<0.1%", "2.2%", "10%", "100%"]


def test_a_lane_is_quiet_if_nothing_waits_runs_or_has_run_within_the_hour() -> None:
    lane = LaneRow(pool="default", lane="mail", ready=0, active=0)
    hour = Trend(step_ms=1, until_ms=2, ended=(0, 0), failed=(0, 0), waiting=(0, None))
    busy = Trend(step_ms=1, until_ms=2, ended=(0, 1), failed=(0, 0), waiting=(0, None))
    assert is_quiet(lane, hour)
    assert is_quiet(lane, None)
    assert not is_quiet(lane, busy)
    assert not any(
        is_quiet(LaneRow(pool="default", lane="mail", **{"ready": 0, "active": 0} | fields), hour)
        for fields in ({"ready": 1}, {"active": 1}, {"paused": True})
    )
