"""Random workflows: programs as data, the workflow that runs one, and a plain interpreter that knows the result."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import hypothesis.strategies as st

from queueops import activity, wf, workflow

FAR_S = 360_000.0
"""A time that does not come in a test."""
Node = list[Any]
attempts: Counter[int] = Counter()
"""How often each activity that breaks has run in this example."""

_leaves = st.sampled_from(
    [["call"], ["fails"], ["breaks"], ["breaks"], ["breaks"], ["sleep"], ["signal"], ["effect"], ["tell"],
     ["drop", "sleep"], ["drop", "call"], ["drop", "signal"], ["drop", "child"]]
)  # fmt: skip


def _joined(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    lists = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda found: ["seq", found], lists),
        st.builds(lambda found: ["par", found], lists),
        st.builds(lambda found: ["group", found], lists),
        st.builds(lambda found: ["limit", found], parts),
        st.builds(lambda found: ["child", [found]], parts),
        st.builds(lambda one, two: ["child", [one, two]], parts, parts),
    )


phases = st.lists(st.recursive(_leaves, _joined, max_leaves=6), min_size=1, max_size=3)
"""The phases of a run: between two of them it continues as new."""


def numbered(program: list[Node]) -> list[Node]:
    """The same program, in which each leaf has a number of its own."""
    numbers = count(1)

    def walk(node: Node) -> Node:
        match node[0]:
            case "seq" | "par" | "group" | "child":
                return [node[0], [walk(part) for part in node[1]]]
            case "limit":
                return ["limit", walk(node[1])]
            case kind:
                return [kind, next(numbers), *node[1:]]

    return [walk(node) for node in program]


def expected(node: Node) -> Any:
    """What a part of a program gives."""
    match node[0]:
        case "seq" | "par" | "group" | "child":
            return [expected(part) for part in node[1]]
        case "limit":
            return expected(node[1])
        case "fails":
            return f"failed {node[1]}"
        case "drop":
            return f"dropped {node[1]}"
        case kind:
            return f"{kind} {node[1]}"


def signals_of(node: Node) -> Iterator[str]:
    """The signals that a run of this part waits for, but its children do not."""
    match node[0]:
        case "seq" | "par" | "group":
            for part in node[1]:
                yield from signals_of(part)
        case "limit":
            yield from signals_of(node[1])
        case "signal":
            yield f"go:{node[1]}"


@activity(name="model.call", retries=0)
def call(number: int) -> str:
    """Succeeds."""
    return f"call {number}"


@activity(name="model.fails", retries=0)
def fails(number: int) -> str:
    """Fails."""
    raise ValueError(f"failed {number}")


@activity(name="model.breaks", retries=0)
def breaks(number: int) -> str:
    """Fails at first. Nothing catches that, so the run fails, and an operator retries it."""
    attempts[number] += 1
    if attempts[number] == 1:
        raise ValueError(f"broken {number}")
    return f"breaks {number}"


@workflow(name="model.waits")
async def waits() -> None:
    """Waits for what does not come."""
    await wf.signal("never")


@workflow(name="model.run")
async def run(program: list[Node], done: list[Any]) -> list[Any]:
    """Runs the first phase of a program, and continues as new with the others."""
    done = [*done, await _part(program[0])]
    if len(program) > 1:
        wf.continue_as_new(program[1:], done)
    return done


@workflow(name="model.cancelled")
async def cancelled(program: list[Node]) -> list[Any]:
    """Runs a part, and waits for a cancel, which may come at any time. Then it cleans up."""
    try:
        await _part(program[0])
        wf.set_status("ready")
        await wf.sleep(FAR_S)
    except asyncio.CancelledError:
        return ["cleaned", await wf.call(call, 0)]
    return []


async def _part(node: Node) -> Any:
    kind, what = node[0], node[1]
    match kind:
        case "seq":
            return [await _part(part) for part in what]
        case "par":
            return list(await asyncio.gather(*(_part(part) for part in what)))
        case "group":
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_part(part)) for part in what]
            return [task.result() for task in tasks]
        case "limit":
            async with asyncio.timeout(FAR_S):
                return await _part(what)
        case "child":
            return await wf.child(run, what, [])
        case "call":
            return await wf.call(call, what)
        case "fails":
            try:
                return await wf.call(fails, what)
            except Exception as error:
                return str(error).rpartition(": ")[2]
        case "breaks":
            return await wf.call(breaks, what)
        case "sleep":
            await wf.sleep(60)
        case "signal":
            return f"signal {await wf.signal(f'go:{what}')}"
        case "effect":
            return wf.side_effect(lambda: f"effect {what}")
        case "tell":
            assert await wf.send_signal(wf.info().instance, f"own:{what}", what)
            return f"tell {await wf.signal(f'own:{what}')}"
        case "drop":
            return await _dropped(what, node[2])
    return f"{kind} {what}"


async def _dropped(number: int, kind: str) -> str:
    """Begins what does not end, lets another step come, and gives it up."""
    never: dict[str, Any] = {
        "sleep": lambda: wf.sleep(FAR_S),
        "call": lambda: wf.call(call.using(delay=FAR_S), number),
        "signal": lambda: wf.signal("never"),
        "child": lambda: wf.child(waits),
    }
    task = asyncio.ensure_future(never[kind]())
    await wf.call(call, number)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        own = asyncio.current_task()
        if own is not None and own.cancelling():
            raise  # it was not meant for the task alone
        return f"dropped {number}"
    return "?"
