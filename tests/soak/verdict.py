"""What became of the work: lost, wrong, settled twice, or left where it does not belong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from queueops import get, inspect
from queueops.model import states
from queueops.redis.broker import get_broker
from tests.kernel.picture import Picture
from tests.soak.work import POOLS, Expected

TERMINAL = {str(state) for state in states.TERMINAL}


def acknowledged(path: Path) -> list[Expected]:
    """All that the store has acknowledged, in the order of the acknowledgements of each producer."""
    return [Expected(*json.loads(line)) for line in path.read_text().splitlines()]


def open_tasks() -> Counter[str]:
    """How many tasks have not ended, by pool and state; what cannot be read lies in quarantine, and has no end."""
    broker, found = get_broker(), Counter[str]()
    for pool in POOLS:
        for state in states.table().classes:
            if state not in TERMINAL and state != "quarantined":
                found[f"{pool} {state}"] = broker.client.zcard(broker.keys(pool).state(state))
    return +found


def problems(expected: list[Expected]) -> Iterator[str]:
    """All that is not as it should be."""
    yield from (f"still open: {count} {place}" for place, count in open_tasks().items())
    for task in expected:
        yield from _problems_of(task)
    for pool in POOLS:
        yield from _settled_twice(pool)
        yield from _faults(pool)


def _problems_of(task: Expected) -> Iterator[str]:
    handle = get(task.id)
    if handle is None:
        yield f"lost: {task.id} ({task.kind})"
    elif handle.state != task.state:
        yield f"wrong state: {task.id} ({task.kind}) is {handle.state}, not {task.state}"
    elif task.state == "succeeded" and (result := handle.result(timeout=10)) != task.result:
        yield f"wrong result: {task.id} ({task.kind}) has {result!r}, not {task.result!r}"


def _settled_twice(pool: str) -> Iterator[str]:
    """As many tasks have succeeded as are there: an outcome is recorded once."""
    broker = get_broker()
    picture, moves = Picture(broker, pool), 0
    for minute in picture.under("metrics:"):
        counts = picture.hash(f"metrics:{minute}").items()
        moves += sum(int(count) for field, count in counts if field.startswith("tr|") and field.endswith(">succeeded"))
    there = broker.client.zcard(broker.keys(pool).state("succeeded"))
    if moves != there:
        yield f"settled twice: {moves} tasks of the pool {pool} have succeeded, {there} are there"


def _faults(pool: str) -> Iterator[str]:
    page = inspect.fsck(pool)
    while True:
        yield from (f"fsck: {fault.pool} {fault.id}: {fault.text}" for fault in page.faults)
        if not page.next:
            return
        page = inspect.fsck(pool, page.next)
