"""The tasks and classes that the tests of composites push."""

from __future__ import annotations

from typing import Any

from queueops import Chain, Group, MapReduce, current, task
from tests.tasks_for_tests import add


@task()
def tell(value: Any = None) -> Any:
    """Give back what it got."""
    return value


@task(retries=0)
def refuse(*_: Any) -> None:
    """Fail."""
    raise ValueError("no")


@task()
def push_pair(n: int) -> str:
    """Push a group from within a task."""
    from queueops import group

    return current().push(group(add.s(n), add.s(n + 1))).id


class Squares(MapReduce):
    """The sum of squares."""

    def map(self, n: int):
        """Yield the numbers below n."""
        yield from range(n)

    def process(self, chunk: int) -> int:
        """Square one."""
        return chunk * chunk

    def reduce(self, results) -> int:
        """Sum up."""
        return sum(results)


class Steps(Chain):
    """As many steps as it is told."""

    def task_id(self, count: int, start: int = 0) -> str:
        """Have one run of a number at a time."""
        return f"steps:{count}"

    def init(self, count: int, start: int = 0):
        """Add one, so many times."""
        return [add.s(start) if not number else add.s() for number in range(count)]


class Later(Group):
    """Parts that are read asynchronously."""

    on_failure = "continue"

    async def init(self, *numbers: int):
        """Give each number back."""
        return [tell.s(number) for number in numbers]


class Endless(Chain):
    """It contains itself."""

    def init(self):
        """Begin again."""
        return [tell.s(1), Endless.s()]


class Nothing(Group):
    """Its init answers no list."""

    def init(self):
        """Answer nonsense."""
        return 5
