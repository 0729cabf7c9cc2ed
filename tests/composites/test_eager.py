"""Composites that run eagerly end and count as those of a worker do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import Batch, Iterator, MapReduce, chain
from queueops.results.handle import Progress, TaskHandle
from queueops.testing import eager
from tests.composites.work import Burst, Count, broken, note, seen, tell

pytestmark = pytest.mark.usefixtures("namespace")


def test_an_iterator_runs_within_its_push() -> None:
    with eager():
        assert Count.push(5).result() is None
        assert sorted(seen) == [0, 1, 2, 3, 4]
        assert chain(tell.s(3), Count.s(), tell.si("end")).push().result() == "end"
        assert Count.push(20).state == "failed"


def test_an_id_that_has_ended_is_run_anew() -> None:
    with eager():
        assert Count.using(id="again").push(20).state == "failed"
        broken.clear()
        handle = Count.using(id="again").push(4)
        assert (handle.state, handle.progress) == ("succeeded", Progress(4, 4))


class Whole(Iterator):
    """Emits an iterator, a chain and a map-reduce; they fail as long as a number is broken."""

    on_failure = "continue"

    def iterate(self, state: int | None) -> Batch | None:
        """All of them, or the end."""
        return None if state else Batch(1, [Count.s(15), chain(note.s(1), tell.si("end")), Fragile.s(), note.s(13)])


class Fragile(MapReduce):
    """One chunk fails as long as a number is broken."""

    retries = 0

    def map(self) -> list[int]:
        """Two of them."""
        return [1, 13]

    def process(self, chunk: int) -> int:
        """Fail with what is broken."""
        return note(chunk)


@pytest.mark.parametrize("push", [lambda: Burst.push(20), lambda: Count.push(20)])
def test_a_retry_of_an_iterator_runs_what_failed_again_and_goes_on(push: Callable[[], TaskHandle[Any]]) -> None:
    with eager():
        handle = push()
        assert handle.state == "failed"
        assert handle.retry()
        assert handle.state == "failed"
        broken.clear()
        assert handle.retry()
        assert handle.state == "succeeded"
        assert handle.progress == Progress(20, 20)
        assert sorted(seen) == list(range(20))


def test_a_retry_reaches_the_iterators_chains_and_map_reduces_that_it_emitted() -> None:
    with eager():
        handle = Whole.push()
        assert handle.state == "failed"
        broken.clear()
        assert handle.retry()
        assert (handle.state, handle.progress) == ("succeeded", Progress(4, 4))
