"""Composites whose workers are killed: each ends, and nothing of it is left open."""

from __future__ import annotations

import signal

from queueops import chain, group
from queueops.kinds.composites.parts import Composite
from tests.faults.conftest import Bench
from tests.faults.tasks import grows, work
from tests.kernel.picture import server_of
from tests.support.places import CLUSTER
from tests.support.waiting import wait_until

KILLS = 2


def test_composites_end_though_their_workers_are_killed(bench: Bench, place: str) -> None:
    def tree() -> Composite:
        return chain(work.si(), group(work.si(0.02), chain(work.si(), work.si(0.02))), work.si())

    bench.settings["MAX_CRASHES"] = 1000  # how often one task is lost is left to chance
    handles = [tree().push() for _ in range(10)]
    bench.watchdog()
    for kill in range(1 if place == CLUSTER else KILLS):
        worker = bench.worker("--processes", "2")
        wait_until(lambda most=(kill + 1) * 12: len(bench.ledger.lines("start")) >= most, 60, bench.say)
        worker.signal_all(signal.SIGKILL)
    bench.worker()
    for record in bench.wait(handles):
        assert record.progress == record.total == 5
    keys = bench.broker.keys("default")
    assert server_of(bench.broker, keys.seq).keys(f"{keys.prefix}:task:*#open") == []


def test_parts_that_a_killed_worker_has_added_are_counted_once(bench: Bench) -> None:
    handle = group(grows.s(3), work.s()).push()
    bench.watchdog()
    bench.worker("--processes", "1")
    (record,) = bench.wait([handle])
    assert len({line.id for line in bench.ledger.lines("start")}) == 5  # some of them started twice
    assert (record.progress, record.total, record.own["children"]) == (5, 5, 5)
