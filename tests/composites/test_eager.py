"""Composites that run eagerly end and count as those of a worker do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import chain, group
from queueops.handle import TaskHandle
from queueops.testing import eager, run_worker
from tests.composites.work import Burst, Count, broken, note, seen, tell

pytestmark = pytest.mark.usefixtures("namespace")


@pytest.fixture(autouse=True)
def one_number_is_broken() -> Iterator[None]:
    """Each test begins with nothing seen."""
    seen.clear()
    broken.clear()
    broken.add(13)
    yield
    broken.clear()


def test_an_iterator_runs_within_its_push() -> None:
    with eager():
        assert Count.push(5).result() is None
        assert sorted(seen) == [0, 1, 2, 3, 4]
        assert chain(tell.s(3), Count.s(), tell.si("end")).push().result() == "end"
        assert Count.push(20).state == "failed"


@pytest.mark.parametrize(
    "push",
    [
        lambda: Count.push(5),
        lambda: Burst.push(20),
        lambda: chain(tell.s(1), group(note.si(1), chain(note.si(2), tell.s())), Count.si(3)).push(),
        lambda: chain(group(note.s(13), note.s(4), on_failure="continue"), tell.s()).push(),
        lambda: group(note.s(13), note.s(4), on_failure="outcomes").push(),
    ],
)
def test_it_ends_and_counts_as_with_a_worker(push: Callable[[], TaskHandle[Any]]) -> None:
    def told(handle: TaskHandle[Any]) -> tuple[Any, ...]:
        reason = re.sub(r"child \S+ ", "child ", handle.status().reason)
        return handle.state, handle.progress, reason, sorted(map(str, seen))

    with eager():
        at_once = told(push())
    seen.clear()
    handle = push()
    run_worker()
    assert at_once == told(handle)
