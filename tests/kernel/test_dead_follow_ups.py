"""A follow-up that cannot be pushed is counted, listed and told, also when its task is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from queueops.model.contracts import Conflict, Outcome, Told
from tests.composites.pools import Pools
from tests.kernel.desk import FOREVER, POOL, Desk
from tests.kernel.test_follow_ups import NEXT, followed, plan, pushed, unpushed

DAY_MS = 86_400_000


@pytest.fixture(params=[0, FOREVER], ids=["function", "script"])
def desk(request: pytest.FixtureRequest, make_desk: Callable[..., Desk]) -> Desk:
    """A desk that calls functions, or sends scripts."""
    found = make_desk()
    found.broker.scripts.without_functions(request.param)
    return found


def dead(desk: Desk) -> list[str]:
    """The tasks whose follow-ups could not be pushed, one for each; each is in the index, and has a note."""
    found = desk.client.zrange(desk.keys.follow_ups_dead, 0, -1)
    assert sorted(found) == sorted(desk.client.hkeys(desk.keys.follow_ups_notes))
    return [member.decode().partition("#")[0] for member in found]


def note(desk: Desk) -> dict[str, str]:
    """What the pool has noted of its only dead follow-up."""
    (stored,) = desk.client.hvals(desk.keys.follow_ups_notes)
    found: dict[str, str] = msgspec.json.decode(stored.partition(b" ")[2])
    return found


def refused(desk: Desk) -> None:
    """A task whose follow-up cannot be pushed."""
    desk.push("b", name="tests.old")
    desk.settle(pushed(desk, plan("success", id="b", policy="reject"), priority=5))


def test_a_retry_counts_anew(desk: Desk) -> None:
    refused(desk)
    assert dead(desk) == ["a"]
    assert desk.drain() == ["b"]
    assert desk.told("retry", "a") == "OK"
    desk.push("b", name="tests.old", conflict=Conflict.REPLACE)
    for lease in sorted((desk.lease(), desk.lease()), key=lambda lease: lease.id):
        desk.settle(lease)
    assert (unpushed(desk), dead(desk)) == (1, ["a"])
    assert desk.told("delete", "b", value="1000000") == "OK"
    assert desk.told("retry", "a") == "OK"
    desk.settle(desk.lease())
    assert (unpushed(desk), followed(desk), dead(desk)) == (0, ["b"], [])


def test_a_discard_says_that_its_follow_up_could_not_be_pushed_and_the_list_keeps_it(desk: Desk) -> None:
    desk.push("b", name="tests.old")
    lease = pushed(desk, plan("discarded", id="b", policy="reject"), priority=5)
    desk.settle(lease, Outcome.QUARANTINE, b"odd")
    (row,) = desk.control("discard", "a")
    assert (row.word, row.detail) == ("OK", "its follow-up could not be pushed: its id b is in use")
    desk.tick()
    assert (desk.state("a"), dead(desk), desk.counted("fu|dead")) == ("", ["a"], 1)
    facts = {"name": "tests.noop", "outcome": "discarded", "next": NEXT, "next_id": "b", "pool": POOL}
    assert note(desk) == facts | {"reason": "its id b is in use"}


@pytest.mark.parametrize("text", ["rubbish", "[7]"])
def test_rubbish_of_a_discarded_task_is_listed(desk: Desk, text: str) -> None:
    desk.push("a", own=(("fu", text),))
    desk.settle(desk.lease(), Outcome.QUARANTINE, b"odd")
    (row,) = desk.control("discard", "a")
    assert row.detail.startswith("its follow-up could not be pushed: field fu of its record")
    assert dead(desk) == ["a"]


def test_a_discard_without_a_dead_follow_up_says_nothing(desk: Desk) -> None:
    desk.settle(pushed(desk, plan("discarded", id="b")), Outcome.QUARANTINE, b"odd")
    assert (desk.control("discard", "a")[0].detail, desk.state("b"), dead(desk)) == ("", "pending", [])


def test_a_discard_keeps_what_an_earlier_end_could_not_push(desk: Desk) -> None:
    desk.push("b", name="tests.old")
    lease = pushed(desk, *(plan(each, id="b", policy="reject") for each in ("failure", "discarded")), priority=5)
    desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=-1)
    desk.told("retry", "a")
    desk.settle(desk.lease(), Outcome.QUARANTINE, b"odd")
    desk.told("discard", "a")
    assert dead(desk) == ["a", "a"]


def test_the_list_keeps_a_dead_follow_up_of_a_task_in_the_trash(desk: Desk) -> None:
    refused(desk)
    desk.told("delete", "a", value="1000000")
    desk.tick()
    assert dead(desk) == ["a"]


def test_a_dead_follow_up_leaves_the_list_after_seven_days(desk: Desk) -> None:
    refused(desk)
    (member,) = desk.client.zrange(desk.keys.follow_ups_dead, 0, -1)
    for age, left in ((7 * DAY_MS - 60_000, ["a"]), (7 * DAY_MS + 1, [])):
        desk.client.zadd(desk.keys.follow_ups_dead, {member: desk.now() - age})
        desk.tick()
        assert dead(desk) == left


def test_the_list_has_a_most_and_the_oldest_goes_first(desk: Desk) -> None:
    older = {f"old-{number:05}#1#1": desk.now() - 20_000 + number for number in range(10_000)}
    desk.client.zadd(desk.keys.follow_ups_dead, older)
    desk.client.hset(desk.keys.follow_ups_notes, mapping=dict.fromkeys(older, "1 {}"))
    refused(desk)
    found = dead(desk)
    assert (len(found), found[0], found[-1]) == (10_000, "old-00001", "a")


# In another pool


@pytest.fixture
def pools(desk: Desk) -> Iterator[Pools]:
    """One pool beside the default one; both are checked at the end."""
    found = Pools(desk.broker, "north")
    yield found
    found.check()


def give_up(pools: Pools) -> str:
    """The other pool fails until the only command is given up; its id."""
    for _ in range(20):
        (command,) = pools.take(POOL)
        pools.tell(POOL, Told(command.id, command.version, "FAILED", b"no room"))
        pools.make_due(POOL)
    return command.id


def test_a_message_of_an_older_generation_is_not_noted_with_the_next(pools: Pools) -> None:
    desk = pools[POOL]
    desk.settle(pushed(desk, plan("success", id="b", pool="north")))
    desk.push("a", conflict=Conflict.REPLACE)
    give_up(pools)
    assert (unpushed(desk), desk.counted("fu|dead"), dead(desk)) == (0, 1, ["a"])
    facts = {"name": "tests.noop", "outcome": "success", "next": NEXT, "next_id": "b", "pool": "north"}
    assert note(desk) == facts | {"reason": "no room"}


GOES: dict[str, Callable[[Desk], Any]] = {
    "trash": lambda desk: desk.told("delete", "a", value="1000000"),
    "retention": lambda desk: (desk.make_due("a"), desk.tick()),
    "replaced": lambda desk: desk.push("a", conflict=Conflict.REPLACE),
}


@pytest.mark.parametrize("way", GOES)
@pytest.mark.parametrize("answer", ["refused", "gone", "given up"])
def test_a_task_that_goes_before_the_other_pool_answers_leaves_its_dead_follow_up(
    pools: Pools, way: str, answer: str
) -> None:
    desk = pools[POOL]
    desk.settle(pushed(desk, plan("success", id="b", policy="reject", pool="north")))
    pools["north"].push("b", name="tests.old")
    GOES[way](desk)
    assert desk.state("a") == ("pending" if way == "replaced" else "")
    if answer == "gone":
        (key,) = desk.client.keys(desk.keys.command("*"))
        desk.client.hset(key, "sp", "rubbish")
    if answer == "given up":
        give_up(pools)
    else:
        pools.deliver()
    desk.tick()
    reasons = {"refused": "its id b is in use", "gone": "its pool could not read it", "given up": "no room"}
    assert (dead(desk), desk.counted("fu|dead"), note(desk)["reason"]) == (["a"], 1, reasons[answer])
    assert (note(desk)["name"], note(desk)["pool"], note(desk)["next_id"]) == ("tests.noop", "north", "b")


def test_an_operator_delivers_the_dead_follow_up_of_a_task_that_is_gone_and_it_leaves_the_list(pools: Pools) -> None:
    desk = pools[POOL]
    desk.settle(pushed(desk, plan("success", id="b", pool="north")))
    desk.told("delete", "a", value="1000000")
    command = give_up(pools)
    assert dead(desk) == ["a"]
    desk.broker.redeliver(POOL, "requeue", [command])
    assert pools.deliver() == 1
    assert (pools["north"].drain(), dead(desk)) == (["b"], [])


def test_a_message_that_is_given_up_is_shown_counted_and_delivered_by_an_operator(pools: Pools) -> None:
    desk = pools[POOL]
    desk.settle(pushed(desk, plan("success", id="b", pool="north")))
    command = give_up(pools)
    assert unpushed(desk) == 1
    assert b"on success was not pushed: no room" in desk.client.lindex(desk.keys.task("a") + "#log", -1)
    assert (desk.counted("fu|dead"), desk.client.zcard(desk.keys.commands_dead)) == (1, 1)
    desk.broker.redeliver(POOL, "requeue", [command])
    assert pools.deliver() == 1
    assert (pools["north"].drain(), unpushed(desk)) == (["b"], 0)
    desk.tick()
    assert dead(desk) == []


def test_a_late_delivery_is_not_counted_with_the_next_generation(pools: Pools) -> None:
    desk = pools[POOL]
    desk.settle(pushed(desk, plan("success", id="b", pool="north")))
    command = give_up(pools)
    desk.told("retry", "a")
    desk.broker.redeliver(POOL, "requeue", [command])
    assert pools.deliver() == 1
    assert unpushed(desk) == 1
    pools["north"].drain()
    desk.settle(desk.lease())
    assert unpushed(desk) == 0
    pools.deliver()


def test_an_id_that_the_other_pool_refuses_is_noted(pools: Pools) -> None:
    desk, north = pools[POOL], pools["north"]
    north.push("b", name="tests.old")
    desk.settle(pushed(desk, plan("success", id="b", policy="reject", pool="north")))
    pools.deliver()
    assert unpushed(desk) == 1
    assert b"its id b is in use" in desk.client.lindex(desk.keys.task("a") + "#log", -1)


def test_a_message_with_rubbish_is_noted(pools: Pools) -> None:
    desk = pools[POOL]
    desk.settle(pushed(desk, plan("success", id="b", pool="north")))
    (key,) = desk.client.keys(desk.keys.command("*"))
    desk.client.hset(key, "sp", "rubbish")
    pools.deliver()
    assert unpushed(desk) == 1
