"""Programs of a project: what they push, and what comes of it. Each is run on every sort of store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from queueops import (
    Batch,
    Iterator,
    MapReduce,
    Permanent,
    Retry,
    TaskCancelled,
    TaskFailed,
    activity,
    chain,
    current,
    group,
    task,
    wf,
    workflow,
)
from queueops.results.handle import TaskHandle
from tests.support import tasks_for_tests as tasks

told: list[Any] = []
"""What the tasks of a program noted."""
LONG = "x" * 300_000


@task(name="programs.note", retries=0)
def note(*values: Any) -> Any:
    """Note the values, and return the first."""
    told.append(values)
    return values[0] if values else None


@task(name="programs.fail", retries=1, retry=Retry(delay=0))
def fail(*values: Any) -> None:
    """Fail twice."""
    told.append("failed")
    raise ValueError("no")


@task(name="programs.close", retries=3, retry=Retry(delay=0))
def close() -> None:
    """Fail once, for good."""
    raise Permanent(KeyError("closed"))


@task(name="programs.long")
def long(*values: Any) -> str:
    """Return much."""
    return LONG


@task(name="programs.plan", retries=0)
def plan(number: int) -> str:
    """Push a chain, which runs after it."""
    return current().push(chain(note.s(number), note.s("next"))).id


@task(name="programs.far", pool="mail", retries=0)
def far(value: int) -> int:
    """Run in another pool."""
    return value + 1


class Numbers(Iterator):
    """Emits numbers, two at a time; the odd ones above 4 fail."""

    name = "programs.numbers"

    def iterate(self, state: int | None, count: int) -> Batch | None:
        """Two of them, or the end."""
        done = state or 0
        if done >= count:
            return None
        return Batch(done + 2, [fail.s() if n > 4 and n % 2 else note.s(n) for n in range(done, min(count, done + 2))])


class NumbersToTheEnd(Numbers):
    """The same, which goes on after a failure."""

    name, on_failure = "programs.numbers_to_the_end", "continue"


class Inverse(MapReduce):
    """Sums up ten divided by each chunk; one may fail."""

    name, retries, chunk_retries, on_chunk_failure = "programs.inverse", 0, 0, "drop:1"

    def map(self, *chunks: int) -> list[int]:
        """These."""
        return list(chunks)

    def process(self, chunk: int) -> float:
        """Fail for 0."""
        return 10 / chunk

    def reduce(self, results: Any) -> float:
        """The sum."""
        return sum(results)


@activity(name="programs.charge", retries=1, retry=Retry(delay=0))
def charge(number: str) -> str:
    """Fail at first."""
    told.append(number)
    if told.count(number) == 1:
        raise OSError("try again")
    return f"receipt of {number}"


@workflow(name="programs.parcel")
async def parcel(number: str) -> str:
    """A child."""
    return f"parcel of {number}"


@workflow(name="programs.order")
async def order(number: str) -> list[str]:
    """An activity, a child and a signal."""
    return [await wf.call(charge, number), await wf.child(parcel, number), await wf.signal("approve")]


@workflow(name="programs.broken")
async def broken() -> None:
    """Fail."""
    raise ValueError("no")


Run = Callable[[], object]
Program = Callable[[Run], TaskHandle[Any]]


def twice(run: Run) -> TaskHandle[Any]:
    """Push an id, and push it again after its end."""
    note.using(id="twice").push(1)
    run()
    return note.using(id="twice").push(2)


def retried(run: Run) -> TaskHandle[Any]:
    """Retry a chain, whose failed part fails again."""
    handle = chain(note.s(1), fail.s(), note.si(2)).push()
    run()
    assert handle.retry()
    return handle


def approved(run: Run) -> TaskHandle[Any]:
    """A workflow that gets a signal."""
    handle = order.start("7", id="order-7")
    run()
    order.handle("order-7").signal("approve", "yes")
    return handle


def followed(outcome: str, call: Any) -> Program:
    """A call with a follow-up."""
    whole = call.using(follow_up={outcome: note.s(outcome)})
    return lambda run: whole.push()


PROGRAMS: dict[str, Program] = {
    "a task": lambda run: tasks.add.push(1, 2),
    "an async task": lambda run: tasks.add_later.push(1, 2),
    "a generator": lambda run: tasks.count_to.push(3),
    "a failure": lambda run: fail.push(),
    "a failure for good": lambda run: close.push(),
    "a cancel of its own": lambda run: tasks.give_up.push("no more"),
    "a restart": lambda run: tasks.come_again.push(),
    "many": lambda run: note.push_many([(1,), (2,)])[1],
    "an id twice": twice,
    "a task that pushes a chain": lambda run: plan.push(1),
    "a result that is no JSON": lambda run: tasks.unencodable.using(retries=0).push(),
    "a chain": lambda run: chain(tasks.add.s(1, 2), tasks.add.s(10), tasks.add.si(5, 5)).push(),
    "a group": lambda run: group(tasks.add.s(1, 2), tasks.add_later.s(3)).push(),
    "an empty group": lambda run: chain(note.s(1), group()).push(),
    "a nested group": lambda run: chain(note.s(1), group(note.s(), chain(note.s(), group(note.s()))), note.s()).push(),
    "a deep chain": lambda run: deep(30).push(),
    "a chain with a failure": lambda run: chain(note.s(1), fail.s(), note.s()).push(),
    "a group with a failure": lambda run: group(fail.s(), note.s(1)).push(),
    "a group that goes on": lambda run: group(fail.s(), note.s(1), on_failure="continue").push(),
    "a group of outcomes": lambda run: group(fail.s(), note.s(1), on_failure="outcomes").push(),
    "a retry of a chain": retried,
    "a group with long results": lambda run: group(*[long.s() for _ in range(5)]).push(),
    "a wide group": lambda run: group(*[tasks.add.s(n) for n in range(60)]).push(),
    "a chain over pools": lambda run: chain(note.s(1), far.s(), note.s(), far.s()).push(),
    "a template": lambda run: tasks.Sum.push(1, 2, 3),
    "an iterator": lambda run: Numbers.push(5),
    "an empty iterator": lambda run: tasks.Nothing.push(),
    "an iterator with a failure": lambda run: Numbers.push(10),
    "an iterator that goes on": lambda run: NumbersToTheEnd.push(10),
    "an iterator in a chain": lambda run: chain(note.s(1), Numbers.si(3), note.si("end")).push(),
    "map-reduce": lambda run: Inverse.push(1, 2, 5),
    "map-reduce with a dropped chunk": lambda run: Inverse.push(1, 0, 5),
    "map-reduce with two failed chunks": lambda run: Inverse.push(0, 1, 0),
    "map-reduce of nothing": lambda run: Inverse.push(),
    "map-reduce in a group": lambda run: group(Inverse.s(1), tasks.Letters.s("one", "two")).push(),
    "a follow-up of a success": followed("success", note.s(3)),
    "a follow-up of a failed chain": followed("failure", chain(fail.s())),
    "a workflow": approved,
}


def deep(depth: int) -> Any:
    """A chain in a chain, and so on."""
    return chain(note.s(1)) if not depth else chain(deep(depth - 1), note.s())


def outcome(handle: TaskHandle[Any]) -> dict[str, Any]:
    """What came of a program, without what differs from run to run."""
    status = handle.status()
    assert status is not None
    try:
        result = handle.result(10)
    except (TaskFailed, TaskCancelled) as error:
        result = type(error).__name__
    numbered = {name: getattr(status, name) for name in ("state", "kind", "attempt", "error_type", "error", "chunks")}
    progress = handle.progress.as_dict() if handle.progress else None
    noted = sorted(json.dumps(each, sort_keys=True) for each in told)
    return numbered | {"progress": progress, "told": _without_ids([status.reason, str(result), *noted])}


def _without_ids(texts: list[str]) -> list[str]:
    return [re.sub(r"\b[0-9A-Z]{26}\b", "<id>", each) for each in texts]
