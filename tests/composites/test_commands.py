"""A command is applied once in effect, in any order, however often it comes; one that can't be stops no other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from redis.exceptions import ResponseError

from queueops.errors import BrokerUnavailable
from queueops.model.contracts import Command, Lease, Outcome, Told
from queueops.pool_messages.dispatcher import Outbox
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of, open_children
from tests.kernel.conftest import MakeDesk
from tests.support.waiting import wait_until

GONE = 10_000


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(make_desk().broker, "north", "south")
    yield pools
    pools.check()


def fill_with_dead(pools: Pools) -> None:
    """Ten thousand commands in the north, each for a task that is gone."""
    keys, now = pools["north"].keys, pools["north"].now()
    with pools.broker.client.pipeline(transaction=False) as pipe:
        for number in range(GONE):
            fields = {"v": "activate", "to": "south", "i": f"x{number}", "me": "g", "u": 1, "rn": 0, "t": now, "vn": 1}
            pipe.hset(keys.command(f"gone{number}"), mapping=fields)
            pipe.zadd(keys.commands, {f"gone{number}": now - GONE + number})
        pipe.zadd(keys.agenda, {"~commands:": now})
        pipe.execute()


def bring(pools: Pools, pool: str) -> None:
    """A process brings what is due in a pool's outbox."""
    outbox = Outbox(pools.broker)
    outbox.look(pool)
    wait_until(lambda: not outbox.busy)
    outbox.close()


def verbs(commands: list[Command]) -> list[str]:
    """What the commands ask for."""
    return sorted(command.fields[command.fields.index(b"v") + 1].decode() for command in commands)


def test_what_was_put_off_is_taken_again_by_the_process_that_put_it_off(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool of the chain has no worker, and no watchdog looks into its outbox."""
    pools.plant(chain_of("c", "a", "b"), a="north", b="south")
    outbox, real = Outbox(pools.broker), pools.broker.post

    def post(pool: str, **values: Any) -> Any:
        if pool == "north":
            raise BrokerUnavailable(url="redis://north", attempts=1, reason="refused")
        return real(pool, **values)

    monkeypatch.setattr(pools.broker, "post", post)
    outbox.look("default")
    wait_until(lambda: not outbox.busy)
    monkeypatch.undo()
    assert (pools.state("a"), pools.commands()) == ("waiting", 1)
    pools.make_due("default")
    outbox.look_again()
    wait_until(lambda: not outbox.busy)
    outbox.close()
    assert (pools.state("a"), pools.commands()) == ("pending", 0)


def test_one_hop_across_pools_is_an_exchange_and_a_call(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), b="north")
    lease = pools.lease("default")
    settled = pools["default"].exchange(settle=[pools.end(lease, b"5")], take=10)
    assert verbs(settled.commands) == ["activate"]
    pools.apply(*settled.commands)
    assert pools.lease("north").previous == b"5"
    pools.tell("default", *[Told(each.id, each.version, "OK") for each in settled.commands])


def test_a_command_that_came_twice_does_what_it_does_once(pools: Pools) -> None:
    pools.plant(group_of("g", "a", "b", of="outcomes"), a="north", b="north")
    activations = pools.take("default")
    for _ in range(2):
        pools.tell("default", *pools.apply(*activations))
    pools.settle(pools.lease("north"), value=b"1")
    (end,) = pools.take("north")
    assert [pools.apply(end)[0].word for _ in range(3)] == ["OK"] * 3
    record = pools["default"].record("g")
    assert record is not None
    assert record.progress == 1
    assert open_children(pools["default"], "g") == {"b#north"}
    pools.tell("north", *pools.apply(end))
    pools.tell("north", *pools.apply(end))
    pools.drain()
    assert pools.state("g") == "succeeded"


def test_a_command_that_nobody_spoke_of_again_is_taken_by_another(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    assert len(pools.take("default")) == 1
    assert pools.take("default") == []
    pools.unlock("default")
    (again,) = pools.take("default")
    pools.tell("default", *pools.apply(again))
    assert pools.state("a") == "pending"
    assert pools.commands() == 0


@pytest.mark.parametrize("order", [*permutations(("activate", "cancel", "again"))], ids=" ".join)
def test_a_cancelled_child_stays_cancelled_in_whatever_order_it_is_told(pools: Pools, order: tuple[str, ...]) -> None:
    pools.plant(group_of("g", "a"), a="north")
    told = {"activate": pools.take("default")[0]}
    assert pools["default"].told("cancel", "g") == "OK"
    told["cancel"] = told["again"] = pools.take("default")[0]
    for step in order:
        pools.tell("default", *pools.apply(told[step]))
        pools.check()
    pools.deliver()
    assert pools.states("g", "a") == ["cancelled", "cancelled"]
    assert pools.commands() == 0


@pytest.mark.parametrize("order", [*permutations(("end", "cancel", "resume", "answer"))], ids=" ".join)
def test_a_child_is_taken_up_again_in_whatever_order_its_old_end_comes(pools: Pools, order: tuple[str, ...]) -> None:
    """`a` has failed; before that is heard the group is cancelled and retried; so `a` runs again, and once."""
    pools.plant(group_of("g", "a", "b"), a="north")
    pools.deliver()
    pools.settle(pools.lease("north"), Outcome.ERROR, b"{}", delay_ms=-1)
    told = {"end": pools.take("north")[0]}
    pools["default"].told("cancel", "g")
    told["cancel"] = pools.take("default")[0]
    pools["default"].told("retry", "g")
    told["resume"] = pools.take("default")[0]
    answers: list[Told] = []
    for step in order:
        if step == "answer":
            pools.tell("default", *answers)
        else:
            answers += pools.apply(told[step])
        pools.check()
    pools.tell("default", *answers)
    pools.tell("north", *answers)
    pools.unlock("default", "north")
    assert sorted(pools.drain()) == ["a", "b"]
    record = pools["default"].record("g")
    assert record is not None
    assert (record.state, record.result, record.progress) == ("succeeded", b"[1,1]", 2)


def test_the_turn_of_an_earlier_round_is_not_the_turn_of_this_one(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), b="north")
    pools.settle(pools.lease("default"), value=b"1")
    (old,) = pools.take("default")
    pools["default"].told("cancel", "c")
    pools.deliver()
    pools["default"].told("retry", "c", value="all")
    pools.deliver()
    assert pools.states("c", "a", "b") == ["idle", "pending", "waiting"]
    assert pools.apply(old)[0].word == "OLD"
    assert pools.state("b") == "waiting"
    pools.settle(pools.lease("default"), value=b"2")
    pools.deliver()
    assert pools.lease("north").previous == b"2"
    pools.tell("default", Told(old.id, old.version, "OLD"))


@pytest.mark.parametrize("part", ["a task", "a chain"])
def test_what_had_begun_when_all_comes_again_waits_for_its_new_turn_in_whatever_order_it_is_told(
    pools: Pools, part: str
) -> None:
    pools.plant(chain_of("c", "a", "b" if part == "a task" else chain_of("b", "p")), b="north")
    last = "b" if part == "a task" else "p"
    pools.settle(pools.lease("default"), value=b"1")
    pools.deliver()
    assert (pools.state("b"), pools.state(last)) == ("pending" if part == "a task" else "idle", "pending")
    pools["default"].told("cancel", "c")
    (cancel,) = pools.take("default")
    pools["default"].told("retry", "c", value="all")
    (resume,) = pools.take("default")
    answer, late = pools.apply(resume, cancel)
    assert (answer.word, late.word) == ("OPEN", "OLD")
    pools.tell("default", answer, late)
    assert pools.states("a", "b", last) == ["pending", "waiting", "cancelled" if last == "p" else "waiting"]
    given = {}

    def run(lease: Lease) -> tuple[Outcome, bytes]:
        given[lease.id] = lease.previous
        return Outcome.SUCCESS, b"2"

    assert pools.drain(run) == ["a", last]
    assert given == {"a": None, last: b"2"}


def test_a_part_that_is_asked_twice_to_come_again_comes_again_once(pools: Pools) -> None:
    pools.plant(group_of("g", "a", "b", of="continue"), a="north")
    pools.deliver()
    pools.settle(pools.lease("north"), Outcome.ERROR, b"{}", delay_ms=-1)
    pools.settle(pools.lease("default"))
    pools.deliver()
    pools["default"].told("retry", "g")
    (resume,) = pools.take("default")
    pools.tell("default", *pools.apply(resume))
    pools.deliver()
    pools.settle(pools.lease("north"), Outcome.ERROR, b"{}", delay_ms=-1)
    assert pools.apply(resume)[0].word == "OPEN"
    assert pools.state("a") == "failed"
    pools.deliver()
    assert pools.state("g") == "failed"


def test_what_is_told_to_an_older_generation_is_dropped_and_counted(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    pools.deliver()
    old = pools.lease("north")
    pools["default"].told("cancel", "g")
    pools.plant(group_of("g", "x"))
    pools.settle(old)
    pools.deliver()
    assert pools["default"].counted("cmd|dropped") == 1
    assert pools.states("g", "x") == ["idle", "pending"]


def test_a_child_whose_record_is_lost_fails_its_parent(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    pools["default"].client.hset(pools["north"].keys.task("a"), "pi", "another")
    pools.deliver()
    record = pools["default"].record("g")
    assert record is not None
    assert (record.state, record.reason) == ("failed", "its child a#north failed: its record is lost")


def test_what_can_not_be_applied_is_tried_again_later_and_then_lies_with_the_dead(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    waits = []
    for _ in range(20):
        pools.make_due("default")
        (command,) = pools.take("default")
        pools.tell("default", Told(command.id, command.version, "FAILED", b"no"))
        pools.check()
        waits.append(pools.waits("default"))
    assert waits[-1] == {}
    first, tenth = (next(iter(found.values())) for found in (waits[0], waits[10]))
    assert 0 < first <= 250
    assert 25_000 < tenth <= 60_000
    assert pools["default"].client.zcard(pools["default"].keys.commands_dead) == 1
    assert pools.take("default") == []


def test_a_pool_that_is_out_of_reach_is_tried_for_a_day(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    for _ in range(40):
        pools.make_due("default")
        (command,) = pools.take("default")
        pools.tell("default", Told(command.id, command.version, "LATER", b"no answer"))
    assert pools.commands() == 1
    pools.make_due("default")
    pools.deliver()
    assert pools.state("a") == "pending"


def test_a_live_command_does_not_wait_behind_ten_thousand_whose_target_is_gone(pools: Pools) -> None:
    fill_with_dead(pools)
    pools.plant(chain_of("c", "live"), c="north", live="default")
    assert "live" in [command.fields[command.fields.index(b"i") + 1].decode() for command in pools.take("north")]


def test_whoever_brings_a_command_about_takes_it_however_many_wait(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), c="north", b="south")
    lease = pools.lease("north")
    fill_with_dead(pools)
    settled = pools["north"].exchange(settle=[pools.end(lease)], take=0)
    assert verbs(settled.commands) == ["activate"]
    pools.tell("north", *pools.apply(*settled.commands))
    assert pools.state("b") == "pending"
    pools.settle(pools.lease("south"))
    (end,) = pools.take("south")
    assert verbs(pools.broker.post("north", apply=[end], take=0).taken) == []
    assert pools.state("c") == "succeeded"


def test_what_no_worker_brought_about_wakes_an_idle_one_or_tells_a_busy_one(pools: Pools) -> None:
    home, client = pools["default"], pools.broker.client
    home.exchange("idle", want=1, idle=True)
    pools.plant(group_of("g", "a"), a="north")
    assert client.lrange(home.keys.wake("idle"), 0, -1) == [b"work"]
    pools.broker.beat("default", "busy", {"host": "h"})
    pools.plant(group_of("h", "b"), b="north")
    assert client.lrange(home.keys.wake("busy"), 0, -1) == [b"commands"]
    pools.deliver()


def test_a_process_that_closes_takes_nothing(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), b="north")
    assert pools["default"].exchange(settle=[pools.end(pools.lease("default"))]).commands == []
    assert verbs(pools.take("default")) == ["activate"]
    pools.unlock("default")
    pools.deliver()


def test_what_breaks_the_script_is_found_out_and_the_others_arrive(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools.plant(group_of("g", "a", "b", "d"), g="default", a="north", b="north", d="north")
    real = pools.broker.post

    def post(pool: str, **values: Any) -> Any:
        if any(b"b" in command.fields for command in values.get("apply", ())):
            raise ResponseError("WRONG")
        return real(pool, **values)

    monkeypatch.setattr(pools.broker, "post", post)
    bring(pools, "default")
    monkeypatch.undo()
    assert pools.states("a", "b", "d") == ["pending", "waiting", "pending"]
    assert [command.decode() for command in pools.errors("default")] == ["WRONG"]


def test_a_pool_out_of_reach_holds_up_no_other(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    pools.plant(group_of("g", "a", "b"), a="north", b="south")
    real = pools.broker.post

    def post(pool: str, **values: Any) -> Any:
        if pool == "north":
            raise BrokerUnavailable(url="redis://north", attempts=1, reason="refused")
        return real(pool, **values)

    monkeypatch.setattr(pools.broker, "post", post)
    bring(pools, "default")
    monkeypatch.undo()
    assert pools.states("a", "b") == ["waiting", "pending"]
    assert b"did not answer" in pools.errors("default")[0]
    pools.make_due("default")
    pools.deliver()
    assert pools.state("a") == "pending"


def test_the_outbox_of_a_process_brings_commands_and_tells_how_they_went(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), a="north", b="south")
    arrived: list[str] = []
    outbox = Outbox(pools.broker, arrived.append)
    outbox.look("default")
    wait_until(lambda: not outbox.busy)
    assert (arrived, pools.state("a"), pools.commands()) == (["north"], "pending", 0)
    pools.settle(pools.lease("north"))
    outbox.look("north")
    wait_until(lambda: not outbox.busy)
    outbox.close()
    assert pools.state("b") == "pending"
    assert pools.commands() == 0
