"""The same two tasks that every peer runs, and map-reduce tasks, which no peer has."""

import os

import marks

from queueops import Batch, Chain, Group, Iterator, MapReduce, Retry, current, task


@task()
def noop(number: int) -> int:
    """Do nothing but say so."""
    return marks.noop(number)


@task()
def read(text: str) -> int:
    """Take a long argument."""
    return marks.noop(len(text))


@task()
def nap(number: int) -> int:
    """Wait 10 ms."""
    return marks.nap(number)


@task(retries=1, retry=Retry(delay=0.1, jitter=0))
def shaky(number: int) -> int:
    """Fail at the first attempt."""
    marks.noop(number)
    if current().attempt == 1:
        raise ConnectionError("once")
    return number


@task()
def stubborn(number: int) -> None:
    """Begin, and not end whatever it is told."""
    marks.noop(number)
    while True:
        try:
            marks.sleep(3600)
        except BaseException:
            continue


CHUNKS = int(os.environ.get("BENCH_CHUNKS", "1000"))


class Chunks(MapReduce):
    """As many no-op chunks as the benchmark says; map and reduce say how long they took."""

    def task_id(self, number):
        """One that the benchmark knows."""
        return f"chunks{number}"

    def map(self, number):
        """Number them."""
        begun = marks.monotonic_ns()
        yield from range(CHUNKS)
        marks.ended(marks.MAP + number, begun)

    def process(self, chunk):
        """Do nothing."""
        return chunk

    def reduce(self, results):
        """Read all results."""
        begun = marks.monotonic_ns()
        count = sum(1 for _ in results)
        marks.ended(marks.REDUCE, begun)
        return count


class Ten(Chain):
    """Ten tasks, one after the other; the last one says so."""

    def init(self, number):
        """Nine, and one more."""
        return [*[noop.si(number) for _ in range(9)], noop.si(marks.LAST + number)]


class Thousand(Group):
    """A thousand tasks side by side."""

    def init(self, number):
        """They all have its number."""
        return [noop.si(number) for _ in range(1000)]


class Pages(Iterator):
    """As many no-op tasks as the benchmark says, a thousand at a time; those that succeeded go a second later."""

    window, keep_tasks = 500, 1

    def iterate(self, state, number):
        """The next page."""
        first = state or 0
        if first >= CHUNKS:
            return None
        last = min(CHUNKS, first + 1000)
        return Batch(state=last, tasks=[noop.s(each) for each in range(first, last)])


class Shares(MapReduce):
    """One of many tasks side by side; every chunk says which task's it is."""

    def map(self, number):
        """As many chunks, all of this task."""
        return [number] * CHUNKS

    def process(self, chunk):
        """Do nothing but say so."""
        return marks.noop(chunk)
