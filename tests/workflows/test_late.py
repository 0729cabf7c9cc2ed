"""Events that come too late are counted: for their run, and by minute for the pool."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from queueops import inspect, wf, workflow
from queueops.errors.workflows import RunEnded
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.workflows.test_runs import add, counter

pytestmark = pytest.mark.usefixtures("memory")


@workflow(name="late.reads_one")
async def reads_one() -> Any:
    """Reads one signal of each pair."""
    return await wf.signal("go")


@workflow(name="late.calls")
async def calls() -> int:
    """Runs an activity."""
    return await wf.call(add, 1, 2)


def late(run: WorkflowHandle[Any]) -> int:
    """The late events of a run. The pool has counted as many."""
    view = inspect.workflow_run(run.id)
    assert view is not None
    client, prefix = get_broker().client, get_broker().keys("default").prefix
    counts = [client.hget(key, "wf|late") for key in client.keys(f"{prefix}:metrics:*")]
    assert sum(int(count) for count in counts if count) == view.late
    return view.late


def test_a_signal_to_an_ended_run_is_refused_and_counted() -> None:
    run = reads_one.start()
    run.signal("go", 1)
    run_worker()
    assert late(run) == 0
    for count in (1, 2):
        with pytest.raises(RunEnded):
            run.signal("go", 2)
        assert late(run) == count
    assert not run.cancel()
    assert late(run) == 2
    out = StringIO()
    call_command("queue", "run", run.id, stdout=out)
    assert "late events" in out.getvalue()


def test_the_late_events_of_a_pool_are_shown() -> None:
    assert told() == ()
    run = reads_one.start()
    run.signal("go", 1)
    run_worker()
    for expected in ("1 event of a workflow came", "2 events of workflows came"):
        with pytest.raises(RunEnded):
            run.signal("go", 2)
        (note,) = told()
        assert note.startswith(f"{expected} too late in the last hour, and w")
        out = StringIO()
        with pytest.raises(SystemExit):  # no worker lives: there is an alarm
            call_command("queue", "status", stdout=out)
        assert f"default: {note}" in out.getvalue()


def test_late_events_of_an_earlier_hour_are_not_told() -> None:
    run = reads_one.start()
    run.terminate()
    with pytest.raises(RunEnded):
        run.signal("go", 2)
    client, keys = get_broker().client, get_broker().keys("default")
    now = inspect.now_ms() // 60_000
    (minute,) = [at for at in (now, now - 1) if client.hget(keys.metrics(at), "wf|late")]
    client.rename(keys.metrics(minute), keys.metrics(now - 59))
    assert len(told()) == 1
    client.rename(keys.metrics(now - 59), keys.metrics(now - 61))
    assert told() == ()


def told() -> tuple[str, ...]:
    """The notes of the pool."""
    (pool,) = inspect.snapshot().pools
    return pool.notes


def test_signals_that_no_code_has_read_are_counted_at_the_end() -> None:
    run = reads_one.start()
    for name in ("other", "go", "go", "go"):
        run.signal(name, 1)
    run_worker()
    assert run.result(timeout=0) == 1
    assert late(run) == 3


def test_an_event_that_comes_while_the_last_step_is_made_is_counted() -> None:
    run = reads_one.start()
    run.signal("go", 1)
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    run.signal("go", 2)
    step = (
        b'{"taken":1,"mark":"{\\"e\\":\\"step\\"}","commands":[],"calls":[],"timers":[],"drops":[],"tells":[],"notes":[],'
        b'"where":"","over":"succeeded","result":"1"}'
    )
    settlement = Settlement(lease.id, lease.fence, Outcome.SUCCESS, step)
    assert get_broker().exchange("default", "w1", RoundTrip(settle=[settlement])).settled == ["OK"]
    assert late(run) == 1


def test_the_end_of_an_activity_that_a_run_has_given_up_is_not_late() -> None:
    run = calls.start()
    run_worker(until_idle=False)
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    run.terminate()
    settlement = Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"3")
    get_broker().exchange("default", "w1", RoundTrip(settle=[settlement]))
    assert late(run) == 0


def test_signals_that_go_to_the_next_run_are_not_late() -> None:
    run = counter.start(0)
    for number in (1, 2, 3):
        run.signal("add", number)
    run_worker()
    assert run.result(timeout=0) == 6
    assert late(run) == 0
