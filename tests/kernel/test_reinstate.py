"""A cancel that is taken back: the task is where it was, in its lane or until it is due."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Outcome
from tests.kernel.desk import NEVER_MS, Desk, ids_of


def test_what_was_ready_stands_in_its_lane_again(desk: Desk) -> None:
    desk.push("a", "b", lane="slow", priority=3)
    desk.told("cancel", "a")
    (row,) = desk.control("reinstate", "a")
    assert (row.word, row.state) == ("OK", "pending")
    desk.check()
    record = desk.record("a")
    assert (record.lane, record.priority, record.reason) == ("slow", 3, "")
    assert ids_of(desk.claim(2)) == ["b", "a"]  # its place was given up


def test_what_was_postponed_waits_until_the_time_that_it_had(desk: Desk) -> None:
    desk.push("a", "b", delay_ms=NEVER_MS)
    due = desk.client.zscore(desk.keys.agenda, "a")
    desk.told("cancel", "a")
    assert desk.client.zscore(desk.keys.agenda, "a") != due  # that of its retention
    (row,) = desk.control("reinstate", "a")
    assert (row.word, row.state) == ("OK", "postponed")
    desk.check()
    assert desk.client.zscore(desk.keys.agenda, "a") == due
    assert desk.claim(1) == []


def test_what_backed_off_has_had_its_attempts(desk: Desk) -> None:
    desk.push("a", retries=2)
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=NEVER_MS)
    desk.told("cancel", "a")
    assert desk.control("reinstate", "a")[0].state == "postponed"
    desk.check()
    desk.told("run_now", "a")
    assert desk.lease().attempt == 2


def test_what_is_due_by_now_is_ready(desk: Desk) -> None:
    desk.push("a", delay_ms=NEVER_MS)
    desk.told("cancel", "a")
    desk.client.hset(desk.keys.task("a"), "d", desk.now() - 1)
    assert desk.control("reinstate", "a")[0].state == "pending"
    desk.check()


@pytest.mark.parametrize("verb", ["run_now", "retry"])
def test_what_was_told_not_to_wait_any_more_does_not(desk: Desk, verb: str) -> None:
    desk.push("a", retries=2, delay_ms=NEVER_MS if verb == "run_now" else None)
    if verb == "retry":
        desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=NEVER_MS)
    assert desk.told(verb, "a") == "OK"
    desk.told("cancel", "a")
    assert desk.control("reinstate", "a")[0].state == "pending"


def test_what_ran_when_it_was_cancelled_runs_again(desk: Desk) -> None:
    desk.push("a")
    late = desk.lease()
    desk.told("cancel", "a", value="why")
    desk.settle(late, Outcome.CANCEL)
    assert desk.control("reinstate", "a")[0].state == "pending"
    again = desk.lease()
    assert desk.settle(late) == "STALE"
    assert desk.settle(again) == "OK"
    assert desk.state("a") == "succeeded"
    desk.check()


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR])
def test_what_ended_otherwise_is_refused(desk: Desk, outcome: Outcome) -> None:
    desk.push("a")
    desk.settle(desk.lease(), outcome, b"{}", delay_ms=-1)
    state = desk.state("a")
    (row,) = desk.control("reinstate", "a")
    assert (row.word, row.state, row.detail) == ("REFUSED", state, f"reinstate is not possible while it is {state}")
