"""`expires=` of a task, a class or one push: what has not begun by then ends as cancelled."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from queueops import MapReduce, chain, inspect, task
from queueops.errors import BadOption, TaskCancelled, TaskFailed
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.support.tasks_for_tests import add

pytestmark = pytest.mark.usefixtures("namespace")
PAST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
REASON = "expired: it had not begun in time"


@task(name="tests.expires.late", expires=dt.timedelta(hours=1))
def late(n: int = 0) -> int:
    """Give back what it got."""
    return n


class Late(MapReduce):
    """One chunk."""

    expires = 3600

    def process(self, chunk: Any) -> Any:
        """The chunk as it is."""
        return chunk


def test_a_task_whose_moment_is_over_never_runs_and_its_caller_is_told() -> None:
    handle, other = add.using(expires=PAST).push(1, 2), add.push(2, 2)
    run_worker()
    status = handle.status()
    assert (status.state, status.reason, status.attempt) == (State.CANCELLED, REASON, 0)
    with pytest.raises(TaskCancelled, match=REASON):
        handle.result(timeout=5)
    assert other.result(timeout=5) == 4


@pytest.mark.parametrize("push", [late.push, Late.push])
def test_a_task_that_begins_in_time_runs(push: Any) -> None:
    handle = push([1]) if push == Late.push else push(1)
    detail = inspect.task(handle.id)
    assert detail is not None
    assert detail.expires_ms == detail.created_ms + 3_600_000
    assert any(finding.text.startswith("It expires in ") for finding in inspect.why(handle.id))
    run_worker()
    assert handle.status().state == State.SUCCEEDED


def test_a_part_that_expires_before_its_turn_fails_its_chain() -> None:
    steps = chain(add.s(1, 2), add.using(expires=PAST).s(3)).push()
    run_worker()
    assert steps.status().state == State.FAILED
    with pytest.raises(TaskFailed, match=REASON):
        steps.result(timeout=5)


def test_many_that_expire_raise_an_alarm_that_names_them() -> None:
    add.using(expires=PAST).push_many([(n, n) for n in range(12)])
    get_broker().tick("default")
    (alarm,) = [alarm for alarm in inspect.snapshot().alarms if alarm.kind == "expired"]
    assert "12 tasks expired before they could begin, 12 of them" in alarm.text
    (pool,) = [pool for pool in inspect.snapshot().pools if pool.name == "default"]
    assert (pool.expired, pool.notes) == (12, ("12 tasks expired in the last two minutes.",))
    add.push(1, 2)
    told = {alarm.kind: alarm.consequences for alarm in inspect.snapshot().alarms}
    assert "expired" not in told  # no worker is the cause of both
    assert any("12 tasks expired" in each for each in told["unserved"])


@pytest.mark.parametrize("expires", [0, -1, "soon", PAST.replace(tzinfo=None)])
def test_what_is_no_moment_is_refused(expires: Any) -> None:
    with pytest.raises(BadOption, match="expires"):
        add.using(expires=expires)
