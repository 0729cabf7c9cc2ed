"""Chains, groups and iterators that the tests of schedules schedule."""

from __future__ import annotations

from typing import Any

from queueops import Batch, Chain, Group, Iterator
from tests.support.tasks_for_tests import add

calls: list[str] = []
failing: list[str] = []


class Nightly(Chain):
    """Adds up; its init is counted, and fails as long as it is told to."""

    async def init(self, first: int, steps: int = 1) -> list[Any]:
        """One and some more."""
        calls.append("init")
        if failing:
            raise ValueError(failing.pop())
        return [add.s(first), *[add.s(1) for _ in range(steps)]]


class Wide(Group):
    """Many parts."""

    on_failure = "continue"

    def init(self, count: int) -> list[Any]:
        """So many."""
        return [add.s(number) for number in range(count)]


class Pages(Iterator):
    """One task for each number below a limit."""

    def iterate(self, state: int | None, limit: int) -> Batch | None:
        """The next one."""
        number = state or 0
        return Batch(number + 1, [add.s(number)]) if number < limit else None
