"""What worker processes open once is closed when they end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.faults import scoped
from tests.faults.conftest import Bench

pytestmark = pytest.mark.faults


def told(bench: Bench) -> dict[str, list[str]]:
    """What happened, by process."""
    found: dict[str, list[str]] = {}
    for line in Path(f"{bench.ledger.path}.scope").read_text().splitlines():
        what, pid = line.split()
        found.setdefault(pid, []).append(what)
    return found


@pytest.mark.parametrize("arguments", [(), ("--processes", "2")], ids=("one process", "two processes"))
def test_each_process_opens_it_once_and_closes_it_when_it_ends(bench: Bench, arguments: tuple[str, ...]) -> None:
    worker = bench.worker(*arguments, GRACE=60)
    handles = [scoped.use_connection.push() for _ in range(20)] + [scoped.use_stream.push() for _ in range(20)]
    bench.wait(handles)
    assert worker.stop() == 0
    found = told(bench)
    assert {str(handle.result(timeout=0)) for handle in handles} == set(found)
    for events in found.values():
        counts = Counter(events)
        assert counts["opened"] == counts["closed"] == 1
        assert counts["streaming"] == counts["ended"] <= 1
        assert (events[0], events[-1]) == ("opened", "closed")
    assert any("streaming" in events for events in found.values())


def test_a_process_that_is_replaced_closes_its_own(bench: Bench) -> None:
    worker = bench.worker("--max-tasks", "2", GRACE=60)
    for _ in range(3):
        bench.wait([scoped.use_connection.push()])
    assert worker.stop() == 0, worker.text()
    assert list(told(bench).values()) == [["opened", "closed"]] * 2
