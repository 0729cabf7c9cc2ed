"""Composites over several pools whose workers are killed, or are not there for a while."""

from __future__ import annotations

import signal

import pytest

from queueops import chain, group
from queueops.kinds.composites.parts import Composite
from queueops.model.contracts import RoundTrip
from tests.faults.conftest import Bench
from tests.faults.tasks import Pages, echo, patient_later, work
from tests.kernel.desk import end
from tests.support.places import CLUSTER
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

KILLS = 2
POOLS = ["default", "north", "south"]
BOTH = ("--pool", "north", "--pool", "default")


def over_pools() -> Composite:
    north, south = work.using(pool="north"), work.using(pool="south")
    return chain(work.si(), group(north.si(0.02), chain(south.si(), north.si(0.02))), south.si(), north.si())


def test_composites_over_pools_end_though_their_workers_are_killed(bench: Bench, place: str) -> None:
    bench.settings["MAX_CRASHES"] = 1000  # how often one task is lost is left to chance
    handles = [over_pools().push() for _ in range(8)]
    bench.watchdog()
    for kill in range(1 if place == CLUSTER else KILLS):
        workers = [bench.worker(*BOTH), bench.worker("--pool", "south", "--processes", "2")]
        wait_until(lambda most=(kill + 1) * 12: len(bench.ledger.lines("start")) >= most, 60, bench.say)
        for worker in workers:
            worker.signal_all(signal.SIGKILL)
    bench.worker(*BOTH)
    bench.worker("--pool", "south")
    for record in bench.wait(handles):
        assert record.progress == record.total == 6
    wait_until(lambda: no_commands(bench), say=bench.say)  # the locks of the dead end, and others bring what they took
    assert [worker.stop() for worker in bench.workers[-2:]] == [0, 0]
    assert no_commands(bench)


def test_commands_are_brought_by_others_when_the_one_who_took_them_died(bench: Bench) -> None:
    broker = bench.broker
    handle = chain(echo.s(1), echo.using(pool="north").s()).push()
    (lease,) = broker.exchange("default", "dead", RoundTrip(want=1)).leases
    (command,) = broker.exchange("default", "dead", RoundTrip(settle=[end(lease, value=b"5")], take=5)).commands
    assert command.to == "north"
    keys = broker.keys("default")
    broker.client.zadd(keys.commands_locked, {command.id: 1})
    broker.client.zadd(keys.agenda, {"~commands:": 1})
    bench.worker("--pool", "default", "--pool", "north")
    assert handle.result(60) == 5


def test_a_pool_that_nobody_serves_holds_up_only_what_is_for_it(bench: Bench) -> None:
    waiting = chain(echo.s(1), echo.using(pool="south").s()).push()
    worker = bench.worker("--pool", "default")
    others = [chain(echo.s(n), echo.s()).push() for n in range(5)]
    assert [handle.result(60) for handle in others] == list(range(5))
    ready = bench.broker.keys("south").state("pending")
    wait_until(lambda: bench.broker.client.zcard(ready) == 1, 60, bench.say)
    assert worker.stop() == 0  # it has said of all that it took how it went
    assert no_commands(bench)
    assert bench.record(waiting).state == "idle"
    bench.worker("--pool", "south")
    bench.worker("--pool", "default")
    assert waiting.result(60) == 1


def test_without_a_worker_of_their_pool_commands_are_brought_by_the_watchdog(bench: Bench) -> None:
    handle = chain(echo.using(pool="north").s(1), echo.using(pool="south").s()).using(pool="nobody").push()
    bench.watchdog()
    bench.worker("--pool", "north", "--pool", "south")
    assert handle.result(60) == 1


def test_without_a_watchdog_they_are_brought_by_whoever_pushes_and_whoever_runs_the_parts(bench: Bench) -> None:
    handle = chain(echo.using(pool="north").s(1), echo.using(pool="south").s()).using(pool="nobody").push()
    assert bench.broker.client.zcard(bench.broker.keys("north").state("pending")) == 1
    bench.worker("--pool", "north", "--pool", "south")
    assert handle.result(60) == 1
    wait_until(lambda: no_commands(bench), say=bench.say)


def test_a_busy_worker_takes_commands_between_two_tasks(bench: Bench) -> None:
    bench.worker("--pool", "default", "--threads", "1")
    bench.worker("--pool", "north")
    long = patient_later.push(60)
    bench.started(long)
    handle = chain(echo.using(pool="north").s(1), echo.using(pool="north").s()).using(pool="default").push()
    assert handle.result(60) == 1
    assert bench.record(long).state == "locked"
    assert long.cancel()
    bench.wait([long], state="cancelled")


def test_a_worker_that_ends_when_nothing_is_left_waits_for_what_is_on_its_way(bench: Bench) -> None:
    handles = [chain(work.si(), *[work.using(pool=pool).si() for pool in POOLS * 3]).push() for _ in range(3)]
    worker = bench.worker("--burst", *[part for pool in POOLS for part in ("--pool", pool)])
    assert worker.wait(60) == 0
    assert [handle.state for handle in handles] == ["succeeded"] * 3


def test_an_iterator_emits_into_several_pools(bench: Bench) -> None:
    bench.worker(*[part for pool in POOLS for part in ("--pool", pool)])
    handle = Pages.using(pool="south").push(10, POOLS)
    assert handle.result(60) is None
    assert len(bench.ledger.lines("end")) == 30


def no_commands(bench: Bench) -> bool:
    keys = [bench.broker.keys(pool) for pool in bench.broker.pools()]
    return not any(bench.broker.client.exists(key.commands, key.commands_locked, key.commands_dead) for key in keys)
