"""An iterator: tasks in batches, at most a window of them at a time, exactly once whatever crashes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops import TaskFailed, chain, get, group
from queueops.eager.execution import run
from queueops.model.contracts import Lease, Outcome, RoundTrip
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.testing import run_worker
from tests.composites.channel import CHANNEL
from tests.composites.work import Brief, Burst, Count, Mixed, Passing, Patient, Unfit, Wrong, broken, seen, tell
from tests.kernel import invariants
from tests.kernel.desk import Desk, end
from tests.kernel.picture import server_of

pytestmark = pytest.mark.usefixtures("namespace")


@pytest.fixture(autouse=True)
def pool_is_sound() -> Iterator[None]:
    """What is left in the pool is checked."""
    yield
    invariants.check(get_broker(), "default")


def keys(pattern: str) -> list[bytes]:
    broker = get_broker()
    pool = broker.keys("default")
    return server_of(broker, pool.seq).keys(f"{pool.prefix}:task:{pattern}")


def tasks_in(pool: str) -> set[str]:
    """The tasks that are there."""
    desk = Desk(get_broker(), pool)
    return set(desk.check().records())


def lists_of(handle: TaskHandle) -> set[str]:
    """What is kept of it beside its record."""
    return {key.decode().rpartition("#")[2] for key in keys(f"{handle.id}#*")}


def begun() -> tuple[TaskHandle, Desk, Lease, list[Lease]]:
    """An iterator that runs, and two tasks of it that do, too."""
    handle, desk = Count.push(9), Desk(get_broker())
    desk.broker.exchange("default", "w1", RoundTrip(settle=[run(desk.lease(), CHANNEL)]))
    leases = desk.claim(3)
    (running,) = [lease for lease in leases if lease.id == handle.id]
    return handle, desk, running, [lease for lease in leases if lease.id != handle.id]


def test_it_runs_all_its_tasks_and_ends() -> None:
    handle = Count.push(7)
    run_worker()
    assert handle.result(timeout=60) is None
    assert sorted(seen) == list(range(7))
    assert (handle.progress.done, handle.progress.total) == (7, 7)
    assert lists_of(handle) == {"latest"}


def test_no_more_tasks_are_in_flight_than_its_window() -> None:
    handle = Count.push(12)
    broker = get_broker()
    open_key = f"{broker.keys('default').task(handle.id)}#open"
    sizes = set()
    while leases := broker.exchange("default", "w1", RoundTrip(want=5)).leases:
        sizes.add(broker.client.scard(open_key))
        last = leases[-1]  # the one that came last goes first, so that as many as may are waiting
        for lease in [last, *leases[:-1]]:
            broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL)]))
            sizes.add(broker.client.scard(open_key))
    assert max(sizes) == 3
    assert sorted(seen) == list(range(12))
    assert handle.state == "succeeded"


def test_it_emits_chains_and_groups_and_may_end_before_them() -> None:
    handle = Mixed.push()
    run_worker()
    assert handle.state == "succeeded"
    assert sorted(seen) == [1, 1, 2, 3]


def test_with_nothing_to_emit_it_waits_until_a_task_of_its_own_ends() -> None:
    handle = Patient.push()
    broker = get_broker()
    (first,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[run(first, CHANNEL)]))
    noted, again = broker.exchange("default", "w1", RoundTrip(want=2)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[run(again, CHANNEL)]))
    assert handle.state == "idle"
    assert broker.exchange("default", "w1", RoundTrip(want=1)).leases == []
    broker.exchange("default", "w1", RoundTrip(settle=[run(noted, CHANNEL)]))
    assert handle.state == "pending"
    run_worker()
    assert handle.state == "succeeded"
    assert seen == [1, 2]


def test_with_nothing_to_emit_and_nothing_to_wait_for_it_looks_again_later() -> None:
    handle = Patient.push()
    run_worker()
    assert handle.state == "postponed"
    assert handle.run_now()
    run_worker()
    assert handle.state == "succeeded"


def test_it_may_be_part_of_a_chain_and_take_the_result_before_it() -> None:
    handle = chain(tell.s(5), Count.s(), tell.s()).push()
    run_worker()
    assert handle.result(timeout=60) is None
    assert len(seen) == 5
    assert handle.progress.done == handle.progress.total == 7


def test_a_task_that_fails_ends_it_and_cancels_the_rest() -> None:
    handle = Count.push(40)
    run_worker()
    with pytest.raises(TaskFailed, match="13"):
        handle.result(timeout=60)
    assert "its child" in handle.status().reason
    assert max(seen) < 18


def test_or_it_goes_on_and_fails_at_the_end() -> None:
    handle = Mixed.push(fail=True)
    run_worker()
    with pytest.raises(TaskFailed):
        handle.result(timeout=60)
    assert handle.status().reason.startswith("1 of its 2 tasks failed; the first: its child ")


def test_what_is_no_batch_fails_it_with_words() -> None:
    handle = Wrong.push()
    run_worker()
    with pytest.raises(TaskFailed, match="must return a Batch"):
        handle.result(timeout=60)


@pytest.mark.parametrize("way", ["wide", "nested", "same id", "no part", "no batch", "empty"])
def test_an_answer_that_cannot_get_better_fails_at_once(way: str) -> None:
    handle = Unfit.push(way)
    run_worker()
    status = handle.status()
    assert status is not None
    assert (status.state, status.attempt, status.retries) == ("failed", 1, 5)


def test_a_run_that_died_before_it_settled_leaves_nothing_and_is_repeated() -> None:
    handle = Count.push(4)
    broker = get_broker()
    lost = broker.exchange("default", "w1", RoundTrip(want=1)).leases[0]
    run(lost, CHANNEL)
    assert len(keys("*")) == 4  # itself, its drafts and their list
    assert broker.recover("default", "w1", {lost.id: end(lost, Outcome.CRASH, b"killed")}) == 1
    get(handle.id).run_now()
    run_worker()
    assert sorted(seen) == [0, 1, 2, 3]
    assert broker.exchange("default", "w1", RoundTrip(settle=[end(lost)])).settled == ["STALE"]


def test_cancelling_it_cancels_its_tasks() -> None:
    handle = Count.push(40)
    for _ in range(4):
        run_worker(until_idle=False)
    assert handle.cancel("enough")
    run_worker()
    assert handle.state == "cancelled"
    assert len(seen) <= 3
    broker = get_broker()
    assert broker.client.zcard(broker.keys("default").state("waiting")) == 0


def test_a_failed_one_is_retried_with_what_failed_and_from_where_it_was_or_from_the_beginning() -> None:
    handle = Count.push(16)
    run_worker()
    assert handle.state == "failed"
    before = len(seen)
    broken.discard(13)
    assert handle.retry()
    run_worker()
    assert handle.state == "succeeded"
    assert len(seen) < 2 * before
    assert sorted(seen) == list(range(16))
    assert (handle.progress.done, handle.progress.total) == (16, 16)
    assert lists_of(handle) == {"latest", "log"}
    broken.add(13)
    assert handle.retry(everything=True)
    run_worker()
    assert handle.state == "failed"


def test_one_that_went_on_runs_again_only_what_failed() -> None:
    handle = Burst.push(30)
    run_worker()
    assert (handle.state, len(seen)) == ("failed", 29)
    assert handle.retry()
    run_worker()
    assert (handle.state, len(seen)) == ("failed", 29)  # it failed again
    broken.discard(13)
    assert handle.retry()
    run_worker()
    assert handle.state == "succeeded"
    assert sorted(seen) == list(range(30))


def test_a_group_that_it_emitted_goes_on_where_it_failed() -> None:
    handle = Mixed.push(fail=True)
    run_worker()
    assert handle.state == "failed"
    broken.discard(13)
    assert handle.retry()
    run_worker()
    assert handle.state == "succeeded"
    assert sorted(seen) == [1, 1, 3, 13]


def test_what_was_cancelled_with_it_comes_again_within_the_window() -> None:
    handle = Burst.push(9)
    broker = get_broker()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL)]))
    assert handle.cancel("enough")
    assert handle.retry()
    open_key, sizes = f"{broker.keys('default').task(handle.id)}#open", set()
    while leases := broker.exchange("default", "w1", RoundTrip(want=5)).leases:
        sizes.add(broker.client.scard(open_key))
        for lease in leases:
            broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL)]))
    assert max(sizes) == 2
    assert handle.state == "succeeded"
    assert sorted(seen) == list(range(9))


def test_one_that_runs_on_when_its_iterator_comes_again_is_kept() -> None:
    handle = Burst.push(2)
    broker = get_broker()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL)]))
    running = broker.exchange("default", "w1", RoundTrip(want=2)).leases
    assert handle.cancel("enough")
    assert handle.retry()
    (again,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[run(again, CHANNEL)]))
    broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL) for lease in running]))
    assert handle.state == "succeeded"
    assert seen == [0, 1]


def test_what_failed_is_kept_as_long_as_the_iterator() -> None:
    handle = Burst.push(14)
    run_worker()
    desk = Desk(get_broker())
    ids = [key.decode().rpartition(":task:")[2] for key in keys("*") if b"#" not in key]
    parts = [id for id in ids if id != handle.id]
    desk.make_due(*parts)
    desk.tick()
    (kept,) = [id for id in parts if get(id)]
    assert get(kept).state == "failed"
    desk.make_due(handle.id)
    desk.tick()
    desk.make_due(kept)
    desk.tick()
    assert not keys("*")


@pytest.mark.parametrize("rest", ["pending", "restart", "postponed"])
def test_it_fails_at_once_though_iterate_is_to_run_again(rest: str) -> None:
    handle, desk, running, held = begun()
    if rest == "pending":
        desk.settle(running, Outcome.RELEASE)
    elif rest == "restart":
        desk.settle(running, Outcome.ERROR, b"{}", delay_ms=1_000_000)
    else:
        desk.settle(running, Outcome.RESTART, delay_ms=1_000_000)
    assert handle.state == rest
    desk.settle(held[0], Outcome.ERROR, b"{}", delay_ms=-1)
    assert handle.state == "failed"
    assert desk.claim(9) == []
    assert "its child" in handle.status().reason


def test_its_tasks_end_at_once_when_one_fails_while_iterate_runs() -> None:
    handle, desk, running, (first, second) = begun()
    desk.settle(first, Outcome.ERROR, b"{}", delay_ms=-1)
    assert handle.state == "locked"
    assert desk.record(second.id).cancel_requested
    desk.settle(second, Outcome.CANCEL, b"told")
    desk.settle(running, Outcome.ERROR, b"{}", delay_ms=1_000_000)
    assert handle.state == "failed"
    assert first.id in handle.status().reason


def test_a_task_that_is_cancelled_before_its_turn_takes_no_place_in_the_window() -> None:
    handle = Burst.push(6)
    broker = get_broker()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL)]))
    (waiting,) = broker.client.zrange(f"{broker.keys('default').task(handle.id)}#planted", 3, 3)
    broker.control("default", "cancel", [waiting.decode()])
    run_worker()
    assert handle.state == "failed"
    assert len(seen) == 5
    assert "1 of its 6 tasks failed; the first: its child" in handle.status().reason
    assert lists_of(handle) == {"latest", "failures"}


def test_a_cancelled_iterator_ends_as_cancelled_though_tasks_of_it_failed() -> None:
    handle = Burst.push(14)
    broker = get_broker()
    held = []
    while leases := broker.exchange("default", "w1", RoundTrip(want=1)).leases:
        if leases[0].id == handle.id and seen:
            held += leases  # its second run
        else:
            broker.exchange("default", "w1", RoundTrip(settle=[run(leases[0], CHANNEL)]))
    assert broker.record("default", handle.id).own["children_failed"] == 1
    assert get(handle.id).cancel("enough")
    broker.exchange("default", "w1", RoundTrip(settle=[run(held[0], CHANNEL)]))
    assert (handle.state, handle.status().reason) == ("cancelled", "enough")


def test_an_iterator_that_fails_for_a_cancelled_task_is_an_outcome_of_its_group() -> None:
    handle = group(Burst.s(2), tell.s(1), on_failure="outcomes").push()
    broker = get_broker()
    leases = broker.exchange("default", "w1", RoundTrip(want=2)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL) for lease in leases]))
    (task, *_) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    broker.control("default", "cancel", [task.id], value="no")
    broker.exchange("default", "w1", RoundTrip(settle=[end(task, Outcome.CANCEL, b"no")]))
    run_worker()
    first, second = handle.result(timeout=60)
    assert (first["state"], first["error"]) == ("failed", None)
    assert second == {"state": "succeeded", "result": 1}


def test_tasks_that_succeeded_may_go_at_once_and_those_that_failed_stay() -> None:
    handle = Brief.push(14)
    run_worker()
    assert handle.state == "failed"
    broker = get_broker()
    for _ in range(3):
        broker.tick("default")
    kept = {key.decode().rpartition(":task:")[2] for key in keys("*") if b"#" not in key}
    (failed,) = kept - {handle.id}
    assert get(failed).state == "failed"
    assert (handle.progress.done, handle.progress.total) == (14, 14)


@pytest.mark.parametrize("pool", ["default", "north"])
def test_of_chains_and_groups_that_are_not_kept_nothing_is_left_nor_of_what_is_in_another_pool(pool: str) -> None:
    handle, broker, pools = Passing.push(3, pool), get_broker(), sorted({"default", pool})
    run_worker(pools=pools)
    assert handle.state == "succeeded"
    for _ in range(6):
        for name in pools:
            broker.tick(name)
        run_worker(pools=pools)  # brings what one pool says to the other
    invariants.check(broker, pool)
    assert {task_id for name in pools for task_id in tasks_in(name)} == {handle.id}
    assert (handle.progress.done, handle.progress.total) == (6, 6)


def test_of_very_many_that_failed_the_first_are_forgotten() -> None:
    handle = Burst.push(14)
    desk = Desk(get_broker())
    while len(seen) < 13:
        desk.broker.exchange("default", "w1", RoundTrip(settle=[run(desk.lease(), CHANNEL)]))
    (lease,) = [lease for lease in desk.claim(2) if lease.id != handle.id]
    key = desk.keys.task(handle.id)
    desk.client.rpush(f"{key}#failures", *(f"fgone{number}" for number in range(100_000)))
    desk.client.hset(key, "rq", 3)
    desk.broker.exchange("default", "w1", RoundTrip(settle=[run(lease, CHANNEL)]))
    assert desk.client.llen(f"{key}#failures") == 100_000
    assert desk.client.lrange(f"{key}#failures", 0, 0) == [b"fgone1"]
    assert desk.client.lrange(f"{key}#failures", -1, -1) == [f"f{lease.id}".encode()]
    assert desk.record(handle.id).own["tasks_to_come"] == 2


def test_one_whose_task_failed_fails_when_it_is_taken_from_its_worker() -> None:
    handle, desk, running, (first, second) = begun()
    desk.settle(first, Outcome.ERROR, b"{}", delay_ms=-1)
    desk.settle(second, Outcome.CANCEL, b"told")
    (row,) = desk.control("release", handle.id)
    assert (row.word, row.state, handle.state) == ("OK", "failed", "failed")
    assert desk.settle(running) == "STALE"
