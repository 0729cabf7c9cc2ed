"""Replay: the same history gives the same commands, and every difference is found."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from queueops import activity, wf
from queueops.errors.workflows import NotDeterministic, OutsideWorkflow, RefusedInWorkflow
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.replay.loop import WorkflowTask
from queueops.kinds.workflows.replay.step import RunInfo, Step
from queueops.tasks.encoding import encode_result
from tests.support.for_each import for_each
from tests.workflows.test_environment import charge, double

Code = Callable[[], Awaitable[Any]]


class _Code:
    fingerprint = "tests"

    def __init__(self, begin: Any) -> None:
        self.begin = begin

    def encode(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bytes:
        return b""

    def encode_result(self, value: Any) -> bytes:
        return encode_result("tests.code", value)


def execution(code: Code) -> Execution:
    """A run of this code, at its beginning."""
    return Execution(RunInfo(id="r", name="tests.code", instance="r"), _Code(code))


def written(step: Step, *taken: Entry) -> list[bytes]:
    """What a step adds to the history."""
    return [events.encode(entry) for entry in (Entry(events.STEP, at_ms=step.at), *taken, *step.commands)]


def first_step(code: Code) -> list[bytes]:
    """The history after the first step."""
    return written(execution(code).advance(1000, ()))


async def charges() -> None:
    await wf.call(charge, "7")


def test_the_tasks_of_many_runs_in_memory_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def equals(one: object, other: object) -> bool:
        compared.append(1)
        return one is other

    monkeypatch.setattr(WorkflowTask, "__eq__", equals)
    kept = [execution(charges) for _ in range(300)]
    for each in kept:
        each.advance(1_000, [])
    assert len(compared) <= 2 * len(kept)


def test_a_replay_gives_the_same_commands_as_the_step() -> None:
    history = first_step(charges)
    done = Entry("done", command=1, payload=events.raw(b'"paid"'))
    one = execution(charges)
    one.replay(history)
    step = one.advance(2000, [done])
    assert [entry.kind for entry in step.commands] == ["end"]
    whole = history + written(step, done)
    other = execution(charges)
    other.replay(whole)
    assert (other.length, one.length) == (len(whole), len(whole))


async def charges_another() -> None:
    await wf.call(charge, "8")


async def doubles() -> None:
    await wf.call(double, 7)


async def sleeps() -> None:
    await wf.sleep(5)


async def returns() -> None:
    """Do nothing."""


async def charges_twice() -> None:
    await asyncio.gather(wf.call(charge, "7"), wf.call(charge, "8"))


@for_each(
    ("code", "difference"),
    [
        (charges_another, "call number 1 wf.charge with other arguments"),
        (doubles, "Done now: call number 1 wf.double"),
        (sleeps, "Done now: timer number 1"),
        (returns, "Done now: end"),
        (charges_twice, "Recorded: nothing more"),
    ],
)
def test_changed_code_is_found_with_the_difference(code: Code, difference: str) -> None:
    with pytest.raises(NotDeterministic, match=difference):
        execution(code).replay(first_step(charges))


def test_a_patch_lets_earlier_runs_go_by_the_earlier_code() -> None:
    async def changed() -> None:
        await wf.call(charge, "8" if wf.patched("eight") else "7")

    earlier = execution(changed)
    earlier.replay(first_step(charges))
    execution(changed).replay(first_step(changed))
    with pytest.raises(NotDeterministic):
        execution(charges).replay(first_step(changed))


def test_the_question_of_a_patch_may_leave_the_code_when_no_earlier_run_is_open() -> None:
    async def changed() -> None:
        await wf.call(charge, "8" if wf.patched("eight") else "7")

    execution(charges_another).replay(first_step(changed))
    with pytest.raises(NotDeterministic, match="with other arguments"):
        execution(charges_another).replay(first_step(charges))


@dataclass
class Parcel:
    """An argument that has a set."""

    articles: set[int]


@activity(name="replay.counts")
def counts(of: Any) -> int:
    """An activity that takes anything."""
    return len(of)


@for_each("held", [lambda found: found, frozenset, lambda found: {"a": [found]}, Parcel])
def test_the_order_of_a_set_in_arguments_does_not_count(held: Callable[[set[int]], Any]) -> None:
    def calls(*numbers: int) -> Code:
        async def code() -> None:
            found = set()
            for number in numbers:
                found.add(number)
            await asyncio.gather(wf.call(counts, held(found)), wf.call(counts, of=held(found)))

        return code

    assert list({0, 8}) != list({8, 0})  # as in two processes with texts
    execution(calls(0, 8)).replay(first_step(calls(8, 0)))
    with pytest.raises(NotDeterministic, match="with other arguments"):
        execution(calls(0, 8)).replay(first_step(calls(0, 16)))


def test_a_call_may_move_to_another_pool() -> None:
    async def moved() -> None:
        await wf.call(charge.using(pool="billing"), "7")

    execution(moved).replay(first_step(charges))
    execution(charges).replay(first_step(moved))


def test_what_begins_and_ends_in_one_step_is_no_command() -> None:
    async def hurries() -> str:
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
        return "in time"

    step = execution(hurries).advance(1000, ())
    assert ([entry.kind for entry in step.commands], step.result) == (["end"], b'"in time"')


def test_a_timer_that_is_not_needed_any_more_is_dropped() -> None:
    async def waits() -> Any:
        async with asyncio.timeout(60):
            return await wf.signal("go")

    run = execution(waits)
    run.advance(1000, ())
    step = run.advance(2000, [Entry("signal", name="go", payload=events.raw(b"1"))])
    assert [(entry.kind, entry.command) for entry in step.commands] == [("drop", 1), ("end", 0)]


def test_events_and_queues_of_asyncio_work() -> None:
    async def talks() -> list[int]:
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)
        ended = asyncio.Event()

        async def feeds() -> None:
            for number in range(5):
                await queue.put(number)
            ended.set()

        feeder = asyncio.create_task(feeds())
        found = [await queue.get() for _ in range(5)]
        await ended.wait()
        await feeder
        return found

    assert execution(talks).advance(1000, ()).result == b"[0,1,2,3,4]"


async def _thread() -> None:
    await asyncio.to_thread(print)


async def _socket() -> None:
    await asyncio.open_connection("127.0.0.1", 1)


async def _process() -> None:
    await asyncio.create_subprocess_exec("true", stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("code", "what"), [(_thread, "A thread or an executor"), (_socket, "A "), (_process, "A subprocess")]
)
def test_what_cannot_be_replayed_is_refused_with_advice(code: Code, what: str) -> None:
    with pytest.raises(RefusedInWorkflow, match=rf"{what}.* cannot be used .* Do it in an activity"):
        execution(code).advance(1000, ())


def test_outside_of_a_workflow_its_functions_say_so() -> None:
    with pytest.raises(OutsideWorkflow, match=r"wf\.now\(\) works only in the code of a workflow"):
        wf.now()


def test_waiting_places_are_told_by_file_and_line() -> None:
    async def inner() -> None:
        await wf.signal("go")

    async def waits() -> None:
        await inner()

    step = execution(waits).advance(1000, ())
    assert step.where[0] == "signal go"
    assert step.where[1].endswith("in inner")
    assert len(step.where) == 2


def test_a_thousand_calls_are_replayed_in_creation_order() -> None:
    async def many() -> list[int]:
        return list(await asyncio.gather(*(wf.call(double, number) for number in range(1000))))

    run = execution(many)
    step = run.advance(1000, ())
    assert [entry.command for entry in step.commands] == list(range(1, 1001))
    other = execution(many)
    other.replay(written(step))
    ends = [Entry("done", command=number, payload=events.raw(b"%d" % number)) for number in range(1000, 0, -1)]
    assert other.advance(2000, ends).state == "succeeded"
