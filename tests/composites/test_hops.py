"""What one hop of a chain costs: calls to the store, one after the other, from a part's end to the turn of the next.

Those that go to several pools at the same time are one. No test waits for a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, permutations
from typing import Any

import pytest

from queueops import get
from queueops.errors import BrokerUnavailable
from queueops.model.contracts import Command, Lease, Outcome, Told
from queueops.pool_messages.dispatcher import Outbox
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of
from tests.kernel.conftest import MakeDesk
from tests.support.waiting import wait_until

HOME, NORTH, SOUTH = "default", "north", "south"


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(make_desk().broker, NORTH, SOUTH)
    yield pools
    pools.check()


def bring(pools: Pools, commands: Iterable[Command]) -> list[Command]:
    """One call for each, all at the same time: what they bring about."""
    found = []
    for command in commands:
        posted = pools.broker.post(command.to, apply=[command], take=0)
        ((word, detail),) = posted.answers
        pools.tell(command.pool, Told(command.id, command.version, word, detail))
        found += posted.taken
    return found


def bring_all(pools: Pools, commands: list[Command]) -> None:
    """Until nothing is under way."""
    while commands:
        commands = bring(pools, commands)


def calls_of_hop(pools: Pools, lease: Lease, following: str) -> int:
    """Settle a part; how many calls one after the other it took until the next one's turn had come."""
    assert pools.state(following) == "waiting"
    under_way = pools[lease.pool].exchange(settle=[pools.end(lease, f'"{lease.id}"'.encode())], take=0).commands
    calls = 1
    while pools.state(following) == "waiting":
        calls += 1
        assert under_way, f"{following} waits, and nothing is under way"
        under_way = bring(pools, under_way)
    bring_all(pools, under_way)
    return calls


def verb(command: Command) -> str:
    """What a command asks for."""
    return command.fields[command.fields.index(b"v") + 1].decode()


@pytest.mark.parametrize(
    ("first", "second", "third", "calls"),
    [
        (HOME, HOME, HOME, [1, 1]),
        (NORTH, NORTH, NORTH, [1, 1]),
        (HOME, NORTH, HOME, [2, 2]),
        (NORTH, HOME, NORTH, [2, 2]),
        (NORTH, SOUTH, NORTH, [2, 2]),
        (NORTH, NORTH, SOUTH, [1, 2]),
        (NORTH, SOUTH, SOUTH, [2, 1]),
        (HOME, NORTH, SOUTH, [2, 2]),
        (NORTH, SOUTH, HOME, [2, 2]),
    ],
)
def test_a_hop_is_one_call_within_a_pool_and_two_between_pools_wherever_the_chain_is(
    pools: Pools, first: str, second: str, third: str, calls: list[int]
) -> None:
    where = {"a": first, "b": second, "d": third}
    pools.plant(chain_of("c", *where), **where)
    bring_all(pools, pools.take(HOME))
    found, given = [], []
    for part, following in pairwise(where):
        lease = pools.lease(where[part])
        given.append(lease.previous)
        found.append(calls_of_hop(pools, lease, following))
    assert found == calls
    last = pools.lease(third)
    assert [*given, last.previous] == [None, b'"a"', b'"b"']
    pools.settle(last, value=b"7")
    pools.deliver()
    record = pools[HOME].record("c")
    assert record is not None
    assert (record.state, record.result, record.progress, record.total) == ("succeeded", b"7", 3, 3)
    assert pools.commands() == 0


def test_a_part_that_tells_the_next_one_can_be_read_by_its_handle(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=SOUTH)
    bring_all(pools, pools.take(HOME))
    part = get("a")
    assert part is not None
    assert part.state == "pending"
    under_way = pools[NORTH].exchange(settle=[pools.end(pools.lease(NORTH), b"7")], take=0).commands
    bring(pools, [command for command in under_way if verb(command) == "follow"])
    assert pools[SOUTH].record("b").own["ahead_of_chain"]
    assert part.result(timeout=60) == 7
    pools.deliver()


def test_the_worker_that_settles_a_part_has_the_next_one_with_the_same_call_though_the_chain_is_elsewhere(
    pools: Pools,
) -> None:
    pools.plant(chain_of("c", "a", "b"), a=NORTH, b=NORTH)
    pools.deliver()
    found = pools[NORTH].exchange(settle=[pools.end(pools.lease(NORTH), b"5")], want=1)
    assert [(lease.id, lease.previous) for lease in found.leases] == [("b", b"5")]
    pools.deliver()
    pools.settle(found.leases[0])
    pools.deliver()
    assert pools.state("c") == "succeeded"


def test_composites_that_are_parts_pass_the_turn_on_as_tasks_do(pools: Pools) -> None:
    tree = chain_of("c", group_of("g", "p", "q"), chain_of("k", "r", "s"), "z")
    pools.plant(tree, g=NORTH, p=NORTH, q=NORTH, k=SOUTH, r=SOUTH, s=SOUTH, z=NORTH)
    bring_all(pools, pools.take(HOME))
    pools.settle(pools.lease(NORTH), value=b"1")
    assert calls_of_hop(pools, pools.lease(NORTH), "r") == 2
    r = pools.lease(SOUTH)
    assert r.previous == b'[1,"q"]'
    assert calls_of_hop(pools, r, "s") == 1
    assert calls_of_hop(pools, pools.lease(SOUTH), "z") == 2
    assert pools.lease(NORTH).previous == b'"s"'


def test_the_next_part_begins_though_the_pool_of_the_chain_is_out_of_reach_and_only_that_one(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=NORTH)
    pools.deliver()
    real = pools.broker.post

    def post(pool: str, **values: Any) -> Any:
        if pool == HOME:
            raise BrokerUnavailable(url="redis://home", attempts=1, reason="refused")
        return real(pool, **values)

    def settle(lease: Lease) -> None:
        """A worker process ends a part, and brings what that brings about."""
        outbox = Outbox(pools.broker)
        outbox.take(pools[lease.pool].exchange(settle=[pools.end(lease, b"1")], take=0).commands)
        wait_until(lambda: not outbox.busy)
        outbox.close()

    monkeypatch.setattr(pools.broker, "post", post)
    settle(pools.lease(NORTH))
    b = pools.lease(SOUTH)
    settle(b)
    assert pools.states("c", "a", "b", "d") == ["idle", "succeeded", "succeeded", "waiting"]
    monkeypatch.undo()
    pools.make_due(NORTH)
    assert pools.drain() == ["d"]
    assert pools.state("c") == "succeeded"


def test_of_a_cancelled_chain_one_more_part_may_begin_until_it_is_told_and_none_behind_it(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=NORTH)
    pools.deliver()
    a = pools.lease(NORTH)
    assert pools[HOME].told("cancel", "c") == "OK"
    cancels = pools.take(HOME)
    assert calls_of_hop(pools, a, "b") == 2
    b = pools.lease(SOUTH)
    bring_all(pools, cancels)
    assert pools[SOUTH].extend(b).cancels == [("b", "c was cancelled")]
    pools.settle(b)
    pools.deliver()
    assert pools.states("c", "a", "b", "d") == ["cancelled", "succeeded", "succeeded", "cancelled"]
    assert pools.commands() == 0


def test_a_part_that_ended_ahead_of_its_chain_is_heard_when_its_turn_comes(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=NORTH)
    pools.deliver()
    settled = pools[NORTH].exchange(settle=[pools.end(pools.lease(NORTH), b"1")], take=0).commands
    ended, follow = sorted(settled, key=verb)
    bring_all(pools, [follow])
    assert pools[SOUTH].exchange(settle=[pools.end(pools.lease(SOUTH), b"2")], take=0).commands == []
    assert pools.states("c", "b", "d") == ["idle", "succeeded", "waiting"]
    bring_all(pools, [ended])
    assert pools.lease(NORTH).previous == b"2"


@pytest.mark.parametrize("order", [*permutations(("ended", "follow", "cancel"))], ids=" ".join)
def test_what_a_cancelled_chain_never_began_is_cancelled_in_whatever_order_it_is_told(
    pools: Pools, order: tuple[str, ...]
) -> None:
    told = told_of_cancelled(pools)
    for step in order:
        pools.tell(told[step].pool, *pools.apply(told[step]))
        pools.check()
    pools.unlock(HOME, NORTH, SOUTH)
    pools.deliver()
    assert pools.states("c", "a", "b", "d") == ["cancelled", "succeeded", "cancelled", "cancelled"]
    assert pools.commands() == 0


@pytest.mark.parametrize("order", [*permutations(("ended", "follow", "cancel", "resume"))], ids=" ".join)
def test_a_chain_that_is_retried_runs_each_part_once_in_whatever_order_it_is_told(
    pools: Pools, order: tuple[str, ...]
) -> None:
    told = told_of_cancelled(pools)
    pools[HOME].told("retry", "c")
    told["resume"] = next(each for each in pools.take(HOME) if (verb(each), each.to) == ("resume", SOUTH))
    for step in order:
        pools.tell(told[step].pool, *pools.apply(told[step]))
        pools.check()
    pools.unlock(HOME, NORTH, SOUTH)
    given = {}

    def run(lease: Lease) -> tuple[Outcome, bytes]:
        given[lease.id] = lease.previous
        return Outcome.SUCCESS, f'"{lease.id}"'.encode()

    assert pools.drain(run) == ["b", "d"]
    assert given == {"b": b"1", "d": b'"b"'}
    record = pools[HOME].record("c")
    assert record is not None
    assert (record.state, record.result, record.progress) == ("succeeded", b'"d"', 3)


def told_of_cancelled(pools: Pools) -> dict[str, Command]:
    """`a` has succeeded while the chain was cancelled: what is under way."""
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=NORTH)
    pools.deliver()
    a = pools.lease(NORTH)
    pools[HOME].told("cancel", "c")
    told = {"cancel": next(each for each in pools.take(HOME) if each.to == SOUTH)}
    settled = pools[NORTH].exchange(settle=[pools.end(a, b"1")], take=0).commands
    assert sorted(verb(each) for each in settled) == ["ended", "follow"]
    return told | {verb(each): each for each in settled}


def test_of_a_chain_that_was_retried_each_turn_comes_from_the_chain(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=NORTH)
    pools.deliver()
    pools.settle(pools.lease(NORTH), Outcome.ERROR, b"{}", delay_ms=-1)
    pools.deliver()
    pools[HOME].told("retry", "c")
    pools.deliver()
    settled = pools[NORTH].exchange(settle=[pools.end(pools.lease(NORTH))], take=0).commands
    assert [verb(each) for each in settled] == ["ended"]
    bring_all(pools, settled)
    assert pools.drain() == ["b", "d"]
    assert pools.state("c") == "succeeded"


def test_what_a_part_said_before_its_chain_was_run_again_is_not_the_turn_of_the_next(pools: Pools) -> None:
    told = told_of_cancelled(pools)
    pools.unlock(HOME)
    pools.deliver()
    pools[HOME].told("retry", "c", value="all")
    pools.deliver()
    assert pools.states("c", "a", "b", "d") == ["idle", "pending", "waiting", "waiting"]
    (answer,) = pools.apply(told["follow"])
    assert (answer.word, pools.state("b")) == ("OLD", "waiting")
    pools.tell(NORTH, answer)
    pools.unlock(NORTH)
    assert pools.drain() == ["a", "b", "d"]


def test_nor_is_it_that_of_a_later_generation(pools: Pools) -> None:
    told = told_of_cancelled(pools)
    pools.unlock(HOME)
    pools.deliver()
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=NORTH)
    (answer,) = pools.apply(told["follow"])
    assert (answer.word, pools.state("b")) == ("GONE", "waiting")
    pools.tell(NORTH, answer)
    pools.unlock(NORTH)
    assert pools.drain() == ["a", "b", "d"]


def test_the_end_of_a_part_ahead_is_heard_though_its_turn_was_dropped_by_hand(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b", "d"), a=NORTH, b=SOUTH, d=NORTH)
    pools.deliver()
    settled = pools[NORTH].exchange(settle=[pools.end(pools.lease(NORTH), b"1")], take=0).commands
    pools.tell(NORTH, *pools.apply(*settled))
    pools.settle(pools.lease(SOUTH), value=b"2")
    (turn,) = pools[HOME].client.zrange(pools[HOME].keys.commands, 0, -1)
    assert pools.broker.redeliver(HOME, "drop", [turn.decode()])[0][0].word == "OK"
    pools.deliver()
    assert pools.states("c", "b", "d") == ["idle", "succeeded", "waiting"]
    pools[HOME].client.zadd(pools[HOME].keys.state("idle"), {"c": 1})
    pools[HOME].tick()
    assert pools.drain() == ["d"]
    assert pools.state("c") == "succeeded"
