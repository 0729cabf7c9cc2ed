"""The tasks and classes that the tests of composites push."""

from __future__ import annotations

from typing import Any

from queueops import Batch, Chain, Group, Iterator, MapReduce, Retry, chain, current, group, task
from tests.support.tasks_for_tests import add


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


class Anything(Chain):
    """Its argument need not be data."""

    def init(self, thing: object):
        """Tell its type."""
        return [tell.s(type(thing).__name__)]


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


class Count(Iterator):
    """Tasks for the numbers below n, two in a batch; they are told to the list."""

    window = 3

    def iterate(self, state: int | None, n: int) -> Batch | None:
        """Two more."""
        first = state or 0
        if first >= n:
            return None
        return Batch(state=first + 2, tasks=[note.s(number) for number in range(first, min(n, first + 2))])


seen: list[int] = []
broken = {13}


@task(retries=0)
def note(number: int) -> int:
    """Take down a number; some fail."""
    if number in broken:
        raise ValueError(str(number))
    seen.append(number)
    return number


class Mixed(Iterator):
    """Chains and groups, one each."""

    on_failure = "continue"

    def iterate(self, state: str | None, fail: bool = False) -> Batch | None:
        """First a chain, then a group, then nothing."""
        if state is None:
            return Batch("group", [chain(note.s(1), note.s())])
        if state == "group":
            return Batch("end", [group(note.s(13 if fail else 2), note.s(3))])
        return None


class Patient(Iterator):
    """It waits for its first task before it emits the second one."""

    def iterate(self, state: int | None) -> Batch | None:
        """One, then nothing, then another one."""
        step = state or 0
        return [Batch(1, [note.s(1)]), Batch(2), Batch(3, [note.s(2)]), None][step]


class Wrong(Iterator):
    """It answers no Batch."""

    retries = 0

    def iterate(self, state: Any) -> Any:
        """Answer nonsense."""
        return {}


class Unfit(Iterator):
    """It answers what cannot be made tasks."""

    retries = 5
    retry = Retry(delay=0.01, jitter=0)

    def iterate(self, state: Any, way: str) -> Any:
        """Answer nonsense."""
        many = [add.s(number) for number in range(1001)]
        deep = group(group(*many, *(chain(add.s(1), add.s()) for _ in range(4500))))
        same = [add.using(id="same").s(1)] * 2
        answers = {"wide": Batch(tasks=many), "nested": Batch(tasks=[deep]), "same id": Batch(tasks=same),
                   "no part": Batch(tasks=[1]), "no batch": {}, "empty": Batch(tasks=[chain()])}  # fmt: skip
        return answers[way]


class Burst(Iterator):
    """More tasks in one batch than its window, which go on when one fails."""

    window, on_failure = 2, "continue"

    def iterate(self, state: int | None, n: int) -> Batch | None:
        """All of them, or the end."""
        return None if state else Batch(1, [note.s(number) for number in range(n)])


class Wide(Iterator):
    """All of its tasks at once."""

    window = 120

    def iterate(self, state: int | None) -> Batch | None:
        """As many as may run at once."""
        return None if state else Batch(1, [note.s(1) for _ in range(self.window)])


class Brief(Burst):
    """What succeeds goes at once."""

    keep_tasks = 0


class Passing(Iterator):
    """Chains with groups, and tasks, of which nothing is kept."""

    keep_tasks = 0

    def iterate(self, state: int | None, n: int, pool: str) -> Batch | None:
        """So many of each, in this pool."""
        part = note.using(pool=pool)
        found = [chain(part.s(number), group(note.s(), part.s())).using(pool=pool) for number in range(n)]
        return None if state else Batch(1, [*found, *(part.s(number) for number in range(n))])
