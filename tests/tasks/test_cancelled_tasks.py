"""Tasks that are cancelled while they run and then raise: each ends as cancelled, whatever its retries."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator as Generator
from typing import Any

import pytest

from queueops import Batch, Iterator, MapReduce, chain, current, get, group, signals, task
from queueops.errors import PayloadTooLarge, Shutdown, SoftTimeout
from queueops.model.contracts import Outcome
from queueops.tasks.context import Context
from queueops.testing import eager
from tests.support.for_each import for_each
from tests.support.rig import Rig
from tests.support.stored_records import records_of
from tests.support.tasks_for_tests import add
from tests.support.waiting import wait_until

ENDS = ("task_succeeded", "task_failed", "task_retried", "task_cancelled")


@pytest.fixture
def told() -> Generator[list[str]]:
    """The ends that signals told of, with the reason of those that were cancelled."""
    found: list[str] = []

    def receiver(name: str) -> Callable[..., None]:
        return lambda reason="", **_: found.append(f"{name} {reason}".strip())

    receivers = {name: receiver(name) for name in ENDS}
    for name, each in receivers.items():
        getattr(signals, name).connect(each)
    yield found
    for name, each in receivers.items():
        getattr(signals, name).disconnect(each)


def raises(error: BaseException | None) -> Callable[[Context], Any]:
    """Wait for the cancellation, then raise this; or return what can't be stored."""

    def run(context: Context) -> object:
        wait_until(lambda: context.cancelled)
        if error is not None:
            raise error
        return object()

    return run


async def raises_later(context: Context) -> None:
    """An async task that turns its cancellation into an error of its own."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        raise ValueError("interrupted while it slept") from None


def restarts(context: Context) -> None:
    """Ask for another start in spite of the cancellation."""
    wait_until(lambda: context.cancelled)
    context.restart(5)


def cancel(rig: Rig, function: Callable[[Context], Any], **fields: Any) -> Any:
    """Start a task, tell it to stop, and answer how it ended."""
    (lease,) = rig.submit(rig.task(function), **fields)
    wait_until(lambda: rig.executor.slot_of(lease))
    rig.executor.cancel(lease, "enough")
    return rig.ends()[-1]


@pytest.mark.parametrize("attempt", [1, 3])
@pytest.mark.parametrize(
    "function",
    [
        raises(ValueError("no")), raises(SoftTimeout()), raises(Shutdown()), raises(SystemExit(1)),
        raises(PayloadTooLarge(what="result", name="task0", size=9, limit=1)), raises(None), raises_later, restarts,
    ],
    ids=["error", "timeout", "shutdown", "exit", "result too large", "no such result", "async", "restart"],
)  # fmt: skip
def test_a_cancelled_task_that_raises_ends_as_cancelled_and_nobody_hears_of_a_failure(
    rig: Rig, told: list[str], function: Callable[[Context], Any], attempt: int
) -> None:
    end = cancel(rig, function, attempt=attempt, retries=2)
    assert (end.outcome, end.value) == (Outcome.CANCEL, b"enough")
    assert told == ["task_cancelled enough"]


@pytest.mark.parametrize("function", [raises(ValueError("no")), raises_later, restarts])
def test_a_chunk_that_was_told_to_stop_goes_back_whatever_it_raises(
    rig: Rig, told: list[str], function: Callable[[Context], Any]
) -> None:
    """Its task is over, or was a moment ago: whether the chunk runs again is for a retry of that to say."""
    name = rig.task(function)
    (lease,) = rig.submit(name)
    lease.parent_id = "whole"
    wait_until(lambda: rig.executor.slot_of(lease))
    lease.kind = "chunk"
    rig.executor.cancel(lease, "its task is cancelled")
    end = rig.ends()[-1]
    assert (end.outcome, end.value) == (Outcome.RELEASE, b"its task is cancelled")
    assert told == ["task_cancelled its task is cancelled"]


def test_what_a_cancelled_task_raised_is_in_its_log_and_in_that_of_the_worker(
    rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "queueops.worker")
    lines: list[str] = []
    monkeypatch.setattr("tests.support.rig.Silent.log", lambda self, lease, text: lines.append(text))
    cancel(rig, raises(ValueError("no")))
    assert lines == ["cancelled, and then raised ValueError: no"]
    assert "was cancelled, and then raised ValueError: no" in caplog.text


def test_a_cancelled_task_that_returns_has_succeeded(rig: Rig, told: list[str]) -> None:
    def run(context: Context) -> int:
        wait_until(lambda: context.cancelled)
        return 1

    assert cancel(rig, run).outcome is Outcome.SUCCESS
    assert told == ["task_succeeded"]


def test_a_task_whose_lease_may_be_lost_is_not_cancelled_by_that(rig: Rig, told: list[str]) -> None:
    (lease,) = rig.submit(rig.task(raises(ValueError("no"))), retries=2)
    wait_until(lambda: rig.executor.slot_of(lease))
    rig.executor.cancel(lease, "its lease is no longer this worker's", lost=True)
    assert rig.ends()[-1].outcome is Outcome.ERROR
    assert told == ["task_retried"]


@task(retries=3)
def stops_badly() -> None:
    """Have itself cancelled, and raise."""
    handle = get(current().id)
    assert handle is not None
    assert handle.cancel("enough")
    wait_until(lambda: current().cancelled)
    raise ValueError("no")


@task(retries=3)
async def stops_badly_later() -> None:
    """The same on a loop, whose next await is its last."""
    handle = get(current().id)
    assert handle is not None
    assert handle.cancel("enough")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        raise ValueError("no") from None


@pytest.mark.parametrize("stops", [stops_badly, stops_badly_later])
def test_a_task_that_is_cancelled_while_it_runs_eagerly_ends_as_cancelled(told: list[str], stops: Any) -> None:
    with eager() as broker:
        handle = stops.push()
        record = broker.records["default", handle.id]
    assert (record.state, record.reason, record.attempt) == ("cancelled", "enough", 0)
    assert told == ["task_cancelled enough"]


@task()
def loops() -> None:
    """Never look whether cancelling is asked for."""
    handle = get(current().id)
    assert handle is not None
    threading.Thread(target=lambda: handle.cancel("now", hard=True)).start()
    while True:
        time.sleep(0.001)


def test_a_task_that_is_cancelled_hard_while_it_runs_eagerly_is_interrupted(told: list[str]) -> None:
    with eager() as broker:
        handle = loops.push()
        record = broker.records["default", handle.id]
    assert (record.state, record.reason) == ("cancelled", "now")
    assert told == ["task_cancelled now"]


@task()
def cancels(task_id: str) -> str:
    """Cancel something that is under way, and go on."""
    handle = get(task_id)
    assert handle is not None
    assert handle.cancel("enough")
    return "went on"


class Cancels(Iterator):
    """Its second task cancels it."""

    def iterate(self, state: int | None, how: str) -> Batch | None:
        """Three tasks, and then three more."""
        return Batch((state or 0) + 1, [add.s(1), cancels.s("whole"), add.s(2)])


class Chunked(MapReduce):
    """Its second chunk cancels it, and raises."""

    def map(self):
        """Three chunks."""
        return [0, 1, 2]

    def process(self, chunk: int) -> int:
        """Of which the second one tells all of it to stop."""
        if chunk == 1:
            cancels("whole")
            raise ValueError("no")
        return chunk


@for_each(
    ("whole", "states"),
    [
        (
            lambda: chain(add.s(1), group(cancels.si("whole"), chain(add.si(2), add.s())), add.s()).using(id="whole"),
            ["cancelled"] * 5 + ["succeeded"] * 2,
        ),
        (
            lambda: group(add.s(1), cancels.s("whole"), add.s(2), on_failure="outcomes").using(id="whole"),
            ["cancelled", "succeeded", "succeeded"],
        ),
        (lambda: Cancels.using(id="whole").s("run"), ["cancelled", "succeeded", "succeeded"]),
        (lambda: Chunked.using(id="whole").s(), []),
    ],
)
def test_what_runs_eagerly_is_cancelled_with_all_that_has_not_begun(
    whole: Callable[[], Any], states: list[str]
) -> None:
    with eager() as broker:
        handle = whole().push()
        assert (handle.state, handle.status().reason) == ("cancelled", "enough")
        assert sorted(record.state for record in records_of(broker) if record.id != "whole") == states
        if not states:
            counts = broker.chunk_counts("default", "whole")
            assert (counts["done"], counts["pending"], sum(counts.values())) == (1, 2, 3)
