"""One server of a cluster stands still: tasks of the pools on the others start and end as if nothing had happened."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

import queueops
from queueops import chain, control, group
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.faults.layout import GIVES_UP_S, Layout
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

ROUNDS = 10
WORKER_GIVES_UP_S = 10.0
"""The timeout of the product, for a worker whose end waits for it."""


def rounds(layout: Layout) -> None:
    """One task after the other in each pool that goes on, each waited for."""
    for _ in range(ROUNDS):
        for pool in layout.well:
            assert tasks.work.using(pool=pool).push().result(60)


def test_results_of_other_pools_arrive(bench: Bench, layout: Layout) -> None:
    for pool in layout.well:
        bench.worker("--pool", pool)
    rounds(layout)
    with layout.standing_still() as clock:
        rounds(layout)
        handles = [tasks.work.using(pool=pool).push(0.1) for pool in layout.well * ROUNDS]
        assert all(asyncio.run(results(handles)))
        assert not clock.done()


async def results(handles: list[Any]) -> list[Any]:
    return await asyncio.gather(*(handle.aresult(60) for handle in handles))


def test_a_worker_of_all_pools_runs_tasks_of_the_others(bench: Bench, layout: Layout) -> None:
    bench.worker(*layout.options)
    for pool in layout.pools:
        assert tasks.work.using(pool=pool).push().result(60)
    held = tasks.work.using(pool=layout.frozen).push(1.0)
    bench.started(held)
    with layout.standing_still() as clock:
        rounds(layout)
        talking = [tasks.counts_aloud.using(pool=pool).push(5) for pool in layout.well]
        for handle in talking:
            assert handle.result(60) == 5
            assert handle.progress.done == 5
        assert not clock.done()
    bench.wait([held])
    assert tasks.work.using(pool=layout.frozen).push().result(60)
    assert bench.workers[0].stop() == 0


def test_a_worker_starts_and_stops_while_a_server_stands_still(bench: Bench, layout: Layout) -> None:
    with layout.standing_still() as clock:
        worker = bench.worker(*layout.options, GRACE=60, CONNECT={"socket_timeout": WORKER_GIVES_UP_S})
        rounds(layout)
        last = [tasks.work.using(pool=pool).push(1.0) for pool in layout.well]
        for handle in last:
            bench.started(handle)
        worker.signal(signal.SIGTERM)
        bench.wait(last)
        assert not clock.done()
        worker.wait(2 * GIVES_UP_S)  # a claim on its way to the server that stands still may last WORKER_GIVES_UP_S


def test_tasks_of_a_dead_process_go_back_in_the_other_pools(bench: Bench, layout: Layout) -> None:
    worker = bench.worker(*layout.options, LEASE=3600)
    handles = [tasks.work.using(pool=pool).push(1.0) for pool in layout.pools]
    for handle in handles:
        bench.started(handle)
    with layout.standing_still() as clock:
        os.kill(worker.child(), signal.SIGKILL)
        bench.wait(handles[:-1])
        assert not clock.done()
    bench.wait(handles)


def test_composites_go_on_over_the_other_pools(bench: Bench, layout: Layout) -> None:
    """Also when more is told to the pool that does not answer than a process takes from an outbox at once."""
    home, south = layout.well
    bench.worker(*layout.options)
    rounds(layout)
    control.pause_lane(home, "waiting", new=True)
    first = tasks.echo.using(pool=home, lane="waiting")
    stuck = [chain(first.s(n), tasks.echo.using(pool=layout.frozen).s()).using(pool=home).push() for n in range(100)]
    with layout.standing_still() as clock:
        control.resume_lane(home, "waiting")
        wait_until(lambda: all(bench.record(handle).progress for handle in stuck), say=bench.say)
        for n in range(ROUNDS):
            north, other = tasks.echo.using(pool=home), tasks.echo.using(pool=south)
            tree = chain(north.s(n), other.s(), group(north.s(), other.s()), other.s())
            assert tree.using(pool=home).push().result(60) == [n, n]
        assert not clock.done()
    assert [handle.result(60) for handle in stuck] == list(range(100))


def test_an_action_is_answered_though_what_it_means_for_another_pool_cannot_be_told(
    bench: Bench, layout: Layout
) -> None:
    """No worker is there to bring the command, so the process that acts does; a watchdog brings the rest."""
    home, _ = layout.well
    parts = [tasks.echo.using(pool=pool).si(1) for pool in (home, layout.frozen)]
    handles = [group(*parts).using(pool=home).push() for _ in range(3)]
    with layout.standing_still() as clock:
        assert [handle.cancel() for handle in handles] == [True] * 3
        assert not clock.done()
    bench.watchdog()
    bench.wait(handles, state="cancelled")
    pending = bench.broker.keys(layout.frozen).state("pending")
    wait_until(lambda: bench.broker.at(layout.frozen).zcard(pending) <= 1, say=bench.say)  # the push of the clock


def test_a_watchdog_looks_after_the_other_pools(bench: Bench, layout: Layout) -> None:
    watchdog, (home, south) = bench.watchdog(), layout.well
    wait_until(lambda: "watchdog started" in watchdog.text(), say=bench.say)
    bench.worker("--pool", south)
    lost = bench.worker("--pool", home)
    held = tasks.work.using(pool=home).push(3600)
    bench.started(held)
    queueops.schedules.create(tasks.work.using(pool=south), "@every 1s", id="often")
    with layout.standing_still() as clock:
        lost.signal_all(signal.SIGKILL)
        before = len(bench.ledger.lines("end"))
        wait_until(lambda: len(bench.ledger.lines("end")) > before + 5, say=bench.say)
        wait_until(lambda: bench.record(held).crashes == 1, say=bench.say)
        assert not clock.done()
    queueops.schedules.delete("often")
    assert held.cancel()
    bench.wait([held], state="cancelled")


def test_a_watchdog_looks_after_a_pool_that_is_used_for_the_first_time(bench: Bench, layout: Layout) -> None:
    watchdog, (home, _) = bench.watchdog(), layout.well
    wait_until(lambda: "watchdog started" in watchdog.text(), say=bench.say)
    with layout.standing_still() as clock:
        lost = bench.worker("--pool", home)
        held = tasks.work.using(pool=home).push(3600)
        bench.started(held)
        lost.signal_all(signal.SIGKILL)
        wait_until(lambda: bench.record(held).crashes == 1, say=bench.say)
        assert not clock.done()
    assert held.cancel()
    bench.wait([held], state="cancelled")
