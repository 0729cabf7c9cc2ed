"""What a store of workflows promises, call by call: claims, settlements, events, history and deletion."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from queueops import activity, control, wf, workflow
from queueops.errors.workflows import InstanceGone
from queueops.kinds.workflows import control as runs
from queueops.kinds.workflows import events
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Lease, Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.workflows.test_runs import approval, sums

pytestmark = pytest.mark.usefixtures("memory")


@activity(name="wf.place", retries=0)
def place() -> str:
    """Do nothing."""
    return "placed"


@workflow(name="wf.elsewhere")
async def elsewhere() -> str:
    """Calls an activity."""
    return await wf.call(place)


@workflow(name="wf.elsewhere_mail", pool="mail")
async def in_mail() -> str:
    """The same in another pool."""
    return await wf.call(place.using(pool="mail"))


@workflow(name="wf.teller")
async def teller(instance: str) -> bool:
    """Sends a signal."""
    return await wf.send_signal(instance, "approve", "Ada")


def claim(pool: str = "default") -> list[Lease]:
    """What a worker gets that asks for one task."""
    return list(get_broker().exchange(pool, "w1", RoundTrip(want=1)).leases)


def settle(lease: Lease) -> str:
    """Settle a lease as done; the word of the answer."""
    reply = get_broker().exchange(
        lease.pool, "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.SUCCESS, b'"x"')])
    )
    return reply.settled[0]


def history(run: str, pool: str = "default") -> list[str]:
    """The kinds of the entries of a history."""
    return [events.decode(text).kind for text in get_role(WorkflowCalls).history(pool, run)]


def test_metadata_of_a_start_comes_with_the_run_and_its_activities() -> None:
    run = elsewhere.using(meta={"tenant": "seven"}).start()
    (lease,) = claim()
    assert (lease.id, lease.meta) == (run.id, b'{"tenant":"seven"}')
    control.release([run.id])
    run_worker()
    record = get_broker().record("default", f"{run.id}.1")
    assert record is not None
    assert record.meta == b'{"tenant":"seven"}'


def test_a_run_that_has_not_ended_is_not_deleted() -> None:
    run = approval.start(60)
    run_worker()
    (row,) = control.delete([run.id])
    assert (row.word, row.detail) == ("REFUSED", "delete is not possible while it is idle")
    assert run.state == State.IDLE


def test_a_run_that_is_not_there_is_not_deleted() -> None:
    (row,) = control.delete(["no-such-run"])
    assert row.word == "GONE"


def test_a_deleted_run_is_gone_with_its_history() -> None:
    run = approval.using(id="seven").start(60)
    run.signal("approve", 1)
    run_worker()
    assert control.delete([run.id])[0].word == "OK"
    assert run.status() is None
    assert history(run.id) == []
    with pytest.raises(InstanceGone):
        approval.handle("seven")


def test_without_a_run_there_is_no_step() -> None:
    assert claim() == []


def test_a_step_is_claimed_by_one_worker() -> None:
    run = approval.start(60)
    (lease,) = claim()
    assert (lease.id, lease.name, lease.kind) == (run.id, "wf.approval", "workflow")
    assert claim() == []


def test_a_worker_of_a_pool_gets_the_runs_and_activities_of_this_pool() -> None:
    run = in_mail.start()
    assert claim("default") == []
    (lease,) = claim("mail")
    assert (lease.id, lease.pool) == (run.id, "mail")
    control.release([run.id])
    assert run_worker(pools=["default"]) == 0
    run_worker(pools=["mail"], until_idle=False)
    assert claim("default") == []
    (called,) = claim("mail")
    assert (called.id, called.kind) == (f"{run.id}.1", "activity")
    control.release([called.id])
    run_worker(pools=["mail"])
    assert run.result(timeout=0) == "placed"
    activity_record = get_broker().record("mail", f"{run.id}.1")
    assert activity_record is not None
    assert activity_record.pool == "mail"


def test_a_decision_step_is_settled_once() -> None:
    run = elsewhere.start()
    (lease,) = claim()
    step = decided()
    ended = Settlement(lease.id, lease.fence, Outcome.SUCCESS, msgspec.json.encode(step))
    words = [get_broker().exchange("default", "w1", RoundTrip(settle=[ended])).settled for _ in range(2)]
    assert words == [["OK"], ["REPEAT"]]
    assert history(run.id) == ["step", "timer"]
    assert get_role(WorkflowCalls).run_row("default", run.id).calls == {"9": "t9000000000000"}  # type: ignore[union-attr]


def decided() -> dict[str, Any]:
    """A step that sets a timer, as a worker sends it."""
    timer = events.encode(events.Entry("timer", command=9, at_ms=9_000_000_000_000)).decode()
    empty: dict[str, Any] = {name: [] for name in ("calls", "later", "drops", "tells", "notes")}
    mark = events.encode(events.Entry(events.STEP, at_ms=1)).decode()
    return empty | {"taken": 0, "mark": mark, "commands": [timer], "timers": [("9", "9000000000000")], "where": ""}


def test_the_end_of_an_activity_is_settled_once() -> None:
    run = elsewhere.start()
    run_worker(until_idle=False)
    (lease,) = claim()
    assert [settle(lease), settle(lease)] == ["OK", "REPEAT"]
    run_worker()
    assert history(run.id).count("done") == 1


def test_a_step_without_its_lease_writes_nothing() -> None:
    run = elsewhere.start()
    (lease,) = claim()
    control.release([run.id])
    assert settle(lease) == "STALE"
    assert history(run.id) == []
    run_worker()
    assert run.result(timeout=0) == "placed"


def test_a_history_has_the_events_and_commands_in_order() -> None:
    run = sums.start(1)
    run_worker()
    story = run.history()
    assert [entry.kind for entry in story] == ["step", "call", "step", "done", "call", "step", "done", "end"]
    assert [entry.command for entry in story] == [0, 1, 0, 1, 2, 0, 2, 0]
    assert [entry.name for entry in story if entry.kind == "call"] == ["wf.add", "wf.aadd"]
    assert [entry.value for entry in story if entry.kind == "done"] == [1, 2]
    times = [entry.at_ms for entry in story if entry.kind == "step"]
    assert times == sorted(times)
    assert all(entry.arguments_digest for entry in story if entry.kind == "call")
    assert story[-1].state == "succeeded"


def test_the_end_of_a_run_has_its_time() -> None:
    run = elsewhere.start()
    run_worker()
    record = get_broker().record("default", run.id)
    assert record is not None
    assert (record.state, record.ended is not None) == (State.SUCCEEDED, True)


def test_an_event_for_another_instance_makes_it_ready() -> None:
    waiting = approval.using(id="other").start(60)
    run_worker()
    assert waiting.state == State.IDLE
    run = teller.start("other")
    run_worker(until_idle=False)
    assert waiting.state == State.PENDING
    run_worker()
    assert (run.result(timeout=0), waiting.result(timeout=0)) == (True, "Ada")


@pytest.mark.parametrize("verb", ["signal", "cancel"])
def test_an_instance_that_is_not_there_takes_nothing(verb: str) -> None:
    run = elsewhere.start()
    run_worker()
    control.delete([run.id])
    with pytest.raises(InstanceGone):
        run.signal("approve") if verb == "signal" else run.cancel()
    told: Any = runs.signal_runs([run.id], "approve") if verb == "signal" else runs.cancel_runs([run.id])
    assert told[0].word == "GONE"


def test_a_cancel_is_an_event_of_the_next_step() -> None:
    run = approval.start(60)
    run_worker()
    run.cancel("enough")
    (text,) = get_role(WorkflowCalls).inbox("default", run.id)
    assert (events.decode(text).kind, events.decode(text).reason) == ("cancel", "enough")
    run_worker()
    assert run.state == State.CANCELLED
    assert [entry.kind for entry in run.history()][-3:] == ["cancel", "drop", "end"]
