"""The mix of work: what is pushed, and the end that each task must come to."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from queueops import chain, group
from queueops.errors import BrokerUnavailable
from tests.faults.trees import step, sum_up, tree
from tests.soak import tasks

POOLS = ("default", "mail")
BULK = 20


class Expected(NamedTuple):
    """The end that an acknowledged task must come to. ``result`` counts for a task that succeeds."""

    id: str
    kind: str
    state: str
    result: Any = None


class Mix:
    """Pushes one piece of work after the other. ``prefix`` makes the ids of this producer."""

    def __init__(self, prefix: str, seed: int) -> None:
        self._prefix = prefix
        self._rng = random.Random(seed)
        self._count = 0
        self.repeated = 0
        self._kinds: list[Callable[[int, str], list[Expected]]] = [
            *[self._plain] * 8, *[self._async] * 3, *[self._postponed] * 3, self._bulk,
            self._fails_twice, self._fails, self._cancelled, self._tree, self._over_pools,
        ]  # fmt: skip

    def push(self) -> list[Expected]:
        """Push the next piece of work until the store has acknowledged it, however often the push must be repeated."""
        self._count += 1
        number, kind = self._count, self._rng.choice(self._kinds)
        while True:
            try:
                return kind(number, f"{self._prefix}-{number}")
            except BrokerUnavailable:  # the same id again: a push that was written is not written twice
                self.repeated += 1

    def _options(self, task_id: str) -> dict[str, Any]:
        return {"id": task_id, "pool": POOLS[len(task_id) % 2], "priority": self._count % 3}

    def _plain(self, number: int, task_id: str) -> list[Expected]:
        tasks.double.using(**self._options(task_id)).push(number, self._rng.uniform(0, 0.05))
        return [Expected(task_id, "plain", "succeeded", 2 * number)]

    def _async(self, number: int, task_id: str) -> list[Expected]:
        tasks.double_async.using(**self._options(task_id)).push(number, self._rng.uniform(0, 0.3))
        return [Expected(task_id, "async", "succeeded", 2 * number)]

    def _postponed(self, number: int, task_id: str) -> list[Expected]:
        tasks.double.using(**self._options(task_id)).postpone(self._rng.uniform(0, 5), number)
        return [Expected(task_id, "postponed", "succeeded", 2 * number)]

    def _bulk(self, number: int, task_id: str) -> list[Expected]:
        handles = tasks.double.push_many([(number + each,) for each in range(BULK)])
        return [Expected(handle.id, "bulk", "succeeded", 2 * (number + each)) for each, handle in enumerate(handles)]

    def _fails_twice(self, number: int, task_id: str) -> list[Expected]:
        tasks.fails_twice.using(**self._options(task_id)).push(number)
        return [Expected(task_id, "fails twice", "succeeded", number)]

    def _fails(self, number: int, task_id: str) -> list[Expected]:
        tasks.fails.using(**self._options(task_id)).push(number)
        return [Expected(task_id, "fails", "failed")]

    def _cancelled(self, number: int, task_id: str) -> list[Expected]:
        tasks.double.using(**self._options(task_id)).postpone(3600, number).cancel("soak")
        return [Expected(task_id, "cancelled", "cancelled")]

    def _tree(self, number: int, task_id: str) -> list[Expected]:
        composite, result, _ = tree(number)
        composite.using(id=task_id).push()
        return [Expected(task_id, "tree", "succeeded", result)]

    def _over_pools(self, number: int, task_id: str) -> list[Expected]:
        there = step.using(pool="mail")
        chain(step.s(number), group(there.s(), step.s()), sum_up.s(), there.s()).using(id=task_id).push()
        return [Expected(task_id, "over pools", "succeeded", 2 * number + 5)]
