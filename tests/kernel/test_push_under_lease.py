"""A push by a running task is refused in the same call once the lease of that task is no longer current."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from queueops.errors.leases import LeaseLost
from queueops.model.contracts import Conflict, Extend, Lease, LeaseRef, Node, Outcome
from queueops.redis.store_client import BATCH
from tests.kernel.desk import POOL, Desk, make

OTHER = "north"


def ref(lease: Lease) -> LeaseRef:
    """The lease as a push names it."""
    return LeaseRef(lease.pool, lease.id, lease.fence)


def taken_by_another(desk: Desk, lease: Lease) -> None:
    desk.expire(lease.id)
    assert desk.lease("w2").fence > lease.fence


def recovered(desk: Desk, lease: Lease) -> None:
    desk.make_due(lease.id)
    assert desk.tick()["recovered"] == 1


def settled(desk: Desk, lease: Lease) -> None:
    assert desk.settle(lease) == "OK"


def released_by_an_operator(desk: Desk, lease: Lease) -> None:
    assert desk.told("release", lease.id) == "OK"


def deleted(desk: Desk, lease: Lease) -> None:
    assert desk.settle(lease) == "OK"
    assert desk.told("delete", lease.id) == "OK"


WAYS = [taken_by_another, recovered, settled, released_by_an_operator, deleted]


@pytest.fixture
def lease(desk: Desk) -> Lease:
    """The lease of a running task."""
    desk.push("parent", retries=5)
    return desk.lease()


def calls(desk: Desk, lease: Lease, pool: str = POOL) -> dict[str, Callable[[], object]]:
    """Each way in which the broker creates tasks."""
    under = ref(lease)
    broker = desk.broker
    one = make("child", pool=pool)
    some = [make(f"child{number}", pool=pool) for number in range(3)]
    tree = [Node(make("child", pool=pool, kind="group", own=(("cc", 1),))), Node(make("part", pool=pool), 0)]
    long = [tree[0], *(Node(make(f"part{number}", pool=pool), 0, number) for number in range(450))]
    return {
        "one": lambda: broker.push([one], under=under),
        "postponed": lambda: broker.push([make("child", pool=pool, delay_ms=60_000)], under=under),
        "of a kind": lambda: broker.push([make("child", pool=pool, kind="mapreduce")], under=under),
        "some": lambda: broker.push(some, under=under),
        "composite": lambda: broker.plant(tree, under=under),
        "long composite": lambda: broker.plant(long, under=under),
    }


NAMES = ["one", "postponed", "of a kind", "some", "composite", "long composite"]


@pytest.mark.parametrize("call", NAMES)
@pytest.mark.parametrize("lose", WAYS)
def test_a_push_under_a_lost_lease_is_refused_and_writes_nothing(
    desk: Desk, lease: Lease, lose: Callable[[Desk, Lease], None], call: str
) -> None:
    lose(desk, lease)
    before = desk.everything()
    with pytest.raises(LeaseLost, match="parent") as caught:
        calls(desk, lease)[call]()
    assert (caught.value.id, caught.value.fence) == ("parent", lease.fence)
    assert desk.everything() == before
    assert desk.counted("stale") == 1


@pytest.mark.parametrize("call", NAMES)
def test_a_push_under_a_current_lease_is_written(desk: Desk, lease: Lease, call: str) -> None:
    calls(desk, lease)[call]()
    assert desk.client.exists(desk.keys.task("child")) or desk.client.exists(desk.keys.task("child0"))


def test_an_id_in_use_is_replaced_only_under_a_current_lease(desk: Desk, lease: Lease) -> None:
    desk.push("child", delay_ms=60_000)
    again = make("child", conflict=Conflict.REPLACE, priority=7)
    assert desk.broker.push([again], under=ref(lease))[0].word == "REPLACED"
    recovered(desk, lease)
    before = desk.everything()
    with pytest.raises(LeaseLost):
        desk.broker.push([again], under=ref(lease))
    assert desk.everything() == before


def test_of_many_batches_those_after_the_loss_are_refused(desk: Desk, lease: Lease) -> None:
    line = desk.broker.pushes(POOL, under=ref(lease))
    line.send([make(f"a{number}") for number in range(BATCH)])
    assert len(line.receive()) == BATCH
    recovered(desk, lease)
    line.send([make(f"b{number}") for number in range(BATCH)])
    with pytest.raises(LeaseLost):
        line.receive()
    line.close()
    assert not desk.client.exists(desk.keys.task("b0"))


def test_a_chunk_pushes_under_its_own_lease(desk: Desk) -> None:
    desk.push("words", kind="mapreduce")
    lease = desk.lease()
    desk.broker.split(POOL, "words", lease.fence, 0, [b"0"])
    desk.settle(lease, value=b"1")
    chunk = desk.lease()
    assert chunk.id == "words#0"
    assert desk.broker.push([make("child")], under=ref(chunk))[0].word == "OK"
    desk.settle(chunk)
    with pytest.raises(LeaseLost):
        desk.broker.push([make("late")], under=ref(chunk))


def test_a_task_that_is_asked_to_stop_still_holds_its_lease(desk: Desk, lease: Lease) -> None:
    assert desk.told("cancel", "parent") == "OK"
    assert desk.broker.push([make("child")], under=ref(lease))[0].word == "OK"


# To another pool


@pytest.mark.parametrize("call", NAMES)
@pytest.mark.parametrize("lose", WAYS)
def test_a_push_to_another_pool_asks_the_pool_of_the_lease_first(
    desk: Desk, lease: Lease, lose: Callable[[Desk, Lease], None], call: str
) -> None:
    lose(desk, lease)
    with pytest.raises(LeaseLost):
        calls(desk, lease, OTHER)[call]()
    assert not list(desk.client.scan_iter(f"{desk.broker.keys(OTHER).prefix}:*"))


@pytest.mark.parametrize("call", NAMES)
def test_a_push_to_another_pool_under_a_current_lease_is_written(desk: Desk, lease: Lease, call: str) -> None:
    calls(desk, lease, OTHER)[call]()
    keys = desk.broker.keys(OTHER)
    assert desk.client.exists(keys.task("child")) or desk.client.exists(keys.task("child0"))


def test_a_push_that_comes_to_another_pool_after_the_end_of_the_lease_is_refused(
    desk: Desk, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process stands still after it asked: when it goes on, the lease is over and another worker has the task."""
    keys, call = desk.broker.keys(OTHER), desk.broker._call

    def stand_still(script: str, pool: str, *arguments: object) -> object:
        if pool == OTHER and script == "enqueue":
            end = desk.client.zscore(desk.keys.agenda, "parent")
            while desk.now() <= end:
                time.sleep(0.001)
            taken_by_another(desk, lease)
        return call(script, pool, *arguments)

    end_soon(desk, lease)
    monkeypatch.setattr(desk.broker, "_call", stand_still)
    with pytest.raises(LeaseLost):
        desk.broker.push([make("child", pool=OTHER)], under=ref(lease))
    assert not desk.client.exists(keys.task("child"))


def test_a_lease_that_was_renewed_meanwhile_is_no_lost_one(
    desk: Desk, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, tries = desk.broker._call, []

    def come_late(script: str, pool: str, *arguments: object) -> object:
        """The first push comes after the end of the lease as it was looked up."""
        if pool == OTHER and script == "enqueue":
            tries.append(arguments[-1])
            if len(tries) == 1:
                arguments = (*arguments[:-1], desk.now() - 1)
        return call(script, pool, *arguments)

    monkeypatch.setattr(desk.broker, "_call", come_late)
    assert desk.broker.push([make("child", pool=OTHER)], under=ref(lease))[0].word == "OK"
    assert len(tries) == 2


def test_a_push_that_comes_too_late_each_time_is_refused_after_three_tries(
    desk: Desk, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, tries = desk.broker._call, []

    def come_late(script: str, pool: str, *arguments: object) -> object:
        if pool == OTHER and script == "enqueue":
            tries.append(arguments[-1])
            arguments = (*arguments[:-1], desk.now() - 1)
        return call(script, pool, *arguments)

    monkeypatch.setattr(desk.broker, "_call", come_late)
    with pytest.raises(LeaseLost):
        desk.broker.push([make("child", pool=OTHER)], under=ref(lease))
    assert len(tries) == 3
    assert not desk.client.exists(desk.broker.keys(OTHER).task("child"))


def end_soon(desk: Desk, lease: Lease) -> None:
    """The lease ends in 50 ms, unless it is renewed."""
    desk.exchange(extend=[Extend(lease.id, lease.fence, 50)])


def test_a_composite_whose_producer_loses_its_lease_half_way_does_not_begin(
    desk: Desk, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = desk.broker._call

    def lose(script: str, pool: str, *arguments: object) -> object:
        if script == "plant" and arguments[2] == "start":
            recovered(desk, lease)
        return call(script, pool, *arguments)

    monkeypatch.setattr(desk.broker, "_call", lose)
    with pytest.raises(LeaseLost):
        calls(desk, lease)["long composite"]()
    desk.tick()
    assert not [key for key in desk.client.scan_iter(f"{desk.keys.task('')}*") if b"parent" not in key]


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR])
def test_a_push_without_a_lease_is_not_asked_for_one(desk: Desk, lease: Lease, outcome: Outcome) -> None:
    desk.settle(lease, outcome, delay_ms=-1, fingerprint="f")
    assert desk.push("child")[0].word == "OK"


def test_a_repeated_call_is_known_again_under_its_lease(desk: Desk, lease: Lease) -> None:
    push = make("child", conflict=Conflict.NEW)
    words = [desk.broker.push([push], under=ref(lease))[0].word for _ in range(2)]
    assert words == ["OK", "REPEAT"]
