"""The end of a task pushes what follows it, in the same call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from queueops.model.contracts import Lease, Outcome
from queueops.tasks.follow_up import AT_END
from tests.composites.pools import Pools
from tests.composites.trees import chain_of
from tests.kernel.desk import FOREVER, POOL, Desk, end

NEXT = "tests.next"
STORY = {"task": "a", "name": "tests.noop", "reason": "", "error": None}


@pytest.fixture(params=[0, FOREVER], ids=["function", "script"])
def desk(request: pytest.FixtureRequest, make_desk: Callable[..., Desk]) -> Desk:
    """A desk that calls functions, or sends scripts."""
    found = make_desk()
    found.broker.scripts.without_functions(request.param)
    return found


def plan(*outcomes: str, name: str = NEXT, **values: Any) -> dict[str, Any]:
    """A follow-up as a record holds it."""
    fields = ["n", name, *values.pop("fields", ())]
    usual = {"on": outcomes, "pool": POOL, "id": "", "policy": "new", "due": "", "alone": False, "fields": fields}
    return usual | values


def own(*plans: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The fields of a task with follow-ups."""
    return (("fu", msgspec.json.encode(plans).decode()),)


def pushed(desk: Desk, *plans: dict[str, Any], task_id: str = "a", **fields: Any) -> Lease:
    """A task with these follow-ups, claimed."""
    desk.push(task_id, own=own(*plans), **fields)
    return desk.lease()


def followed(desk: Desk, task_id: str = "a") -> list[str]:
    """The ids that the last end of a task pushed."""
    return desk.record(task_id).own.get("follow_ups_pushed", "").split()


def unpushed(desk: Desk) -> int:
    """The number of follow-ups of the task `a` that could not be pushed."""
    return desk.record("a").own.get("follow_ups_dead", 0)


ENDS: dict[str, Callable[[Desk, Lease], Any]] = {
    "success": lambda desk, lease: desk.settle(lease, value=b'{"sum":3}'),
    "failure": lambda desk, lease: desk.settle(lease, Outcome.ERROR, b'{"type":"E"}', delay_ms=-1, fingerprint="f"),
    "cancelled": lambda desk, lease: desk.settle(lease, Outcome.CANCEL, b"no use"),
    "crashed": lambda desk, lease: [
        desk.settle(lease, Outcome.CRASH, b"killed"),
        *(run_and_crash(desk) for _ in range(desk.broker.settings.max_crashes - 1)),
    ],
    "discarded": lambda desk, lease: (desk.settle(lease, Outcome.QUARANTINE, b"odd"), desk.told("discard", "a")),
}


def run_and_crash(desk: Desk) -> str:
    """The worker of the next run is lost, too."""
    desk.make_due("a")
    desk.tick()
    return desk.settle(desk.lease(), Outcome.CRASH, b"killed")


@pytest.mark.parametrize("outcome", ENDS)
def test_each_outcome_has_its_own(desk: Desk, outcome: str) -> None:
    plans = [plan(each, id=f"on-{each}", alone=True) for each in ENDS]
    lease = pushed(desk, *plans)
    ENDS[outcome](desk, lease)
    assert [each for each in ENDS if desk.state(f"on-{each}")] == [outcome]
    found = desk.record(f"on-{outcome}")
    assert (found.state, found.root) == ("pending", "a")
    assert (found.own["follows"], found.own["follows_outcome"]) == ("a", outcome)
    assert desk.lease().args == b""


def test_a_success_hands_on_its_result(desk: Desk) -> None:
    lease = pushed(desk, plan(*AT_END, fields=("a", '[["x"],{}]', "p", "7", "tg", "late"), trace="t"))
    desk.settle(lease, value=b'{"sum":3}')
    (task_id,) = followed(desk)
    assert (desk.record(task_id).priority, desk.record(task_id).tags) == (7, ("late",))
    assert desk.lease().args == b'[[{"sum":3},"x"],{}]'


@pytest.mark.parametrize("outcome", ["failure", "cancelled", "crashed", "discarded"])
def test_every_other_end_hands_on_its_story(desk: Desk, outcome: str) -> None:
    lease = pushed(desk, plan(outcome, id="b"))
    ENDS[outcome](desk, lease)
    ((story,), _) = msgspec.json.decode(desk.lease().args)
    lost = "" if outcome == "discarded" else desk.record("a").reason
    reasons = {"cancelled": "no use", "crashed": lost, "discarded": "odd"}
    errors = {"failure": {"type": "E"}}
    expected = {"outcome": outcome, "reason": reasons.get(outcome, ""), "error": errors.get(outcome)}
    assert story == STORY | expected


def test_an_error_of_an_earlier_attempt_is_no_reason_of_a_cancel(desk: Desk) -> None:
    lease = pushed(desk, plan("cancelled", id="b"), retries=1)
    desk.settle(lease, Outcome.ERROR, b'{"type":"E"}', delay_ms=1)
    desk.told("cancel", "a", value="enough")
    ((story,), _) = msgspec.json.decode(desk.lease().args)
    assert (story["outcome"], story["error"], story["reason"]) == ("cancelled", None, "enough")


def test_a_task_that_ends_in_the_same_call_is_run_again(desk: Desk) -> None:
    desk.push("b", name="tests.old")
    first = desk.lease()
    second = pushed(desk, plan("success", id="b", policy="ignore", alone=True))
    assert desk.exchange(settle=[end(first), end(second)]).settled == ["OK", "OK"]
    assert (desk.state("b"), desk.record("b").name) == ("pending", NEXT)
    desk.check()


def test_a_task_that_waits_is_cancelled_and_what_follows_is_claimed_by_another(desk: Desk) -> None:
    desk.push("a", own=own(plan("cancelled", id="b")))
    assert desk.told("cancel", "a", value="not now") == "OK"
    assert desk.drain() == ["b"]


def test_a_retry_is_no_end_and_each_generation_has_its_own(desk: Desk) -> None:
    lease = pushed(desk, plan("failure"), retries=1)
    desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=1)
    assert (desk.state("a"), followed(desk)) == ("restart", [])
    desk.make_due("a")
    desk.tick()
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    first = followed(desk)
    assert desk.told("retry", "a") == "OK"
    leases = [desk.lease(), desk.lease()]
    for lease in leases:
        desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=-1)
    assert len(first) == len(followed(desk)) == 1
    assert first != followed(desk)


def test_a_settlement_that_comes_twice_pushes_once(desk: Desk) -> None:
    lease = pushed(desk, plan("success"))
    assert [desk.settle(lease), desk.settle(lease)] == ["OK", "REPEAT"]
    assert len(desk.drain()) == 1


def test_several_follow_and_each_may_be_followed(desk: Desk) -> None:
    second = plan("success", id="c", alone=True)
    fields = ("fu", msgspec.json.encode([second]).decode())
    lease = pushed(desk, plan("success", id="b", fields=fields), plan("success", id="d", alone=True))
    desk.settle(lease)
    assert desk.drain() == ["b", "d", "c"]
    assert desk.record("c").root == "a"


def test_a_delay_begins_at_the_end(desk: Desk) -> None:
    desk.settle(pushed(desk, plan("success", id="b", due="+5000000")))
    found = desk.record("b")
    assert (found.state, found.due) == ("postponed", (desk.record("a").ended or 0) + 5_000_000)


def test_a_chosen_id_follows_the_conflict_policy(desk: Desk) -> None:
    for policy, state in (("ignore", "pending"), ("replace", "pending"), ("run_after", "pending")):
        desk.push("b", name="tests.old")
        desk.settle(pushed(desk, plan("success", id="b", policy=policy), priority=5))
        assert desk.state("b") == state
        assert desk.record("b").name == (NEXT if policy == "replace" else "tests.old"), policy
        desk.drain()
        assert desk.record("b").name == ("tests.old" if policy == "ignore" else NEXT), policy


def test_an_id_that_is_refused_is_noted_and_counted(desk: Desk) -> None:
    desk.push("b", name="tests.old")
    lease = pushed(desk, plan("success", id="b", policy="reject"), priority=5)
    assert desk.settle(lease) == "OK"
    assert (desk.state("a"), unpushed(desk), followed(desk)) == ("succeeded", 1, [])
    assert b"its id b is in use" in desk.client.lindex(desk.keys.task("a") + "#log", -1)
    assert desk.counted("fu|dead") == 1


@pytest.mark.parametrize("text", ["", "rubbish", "7", "[7]", '[{"on":["success"]}]', '[{"on":7,"fields":["n","x"]}]'])
def test_rubbish_ends_the_task_and_is_noted(desk: Desk, text: str) -> None:
    desk.push("a", own=(("fu", text),))
    assert desk.settle(desk.lease()) == "OK"
    assert (desk.state("a"), unpushed(desk)) == ("succeeded", 1)
    assert b"field fu of its record" in desk.client.lindex(desk.keys.task("a") + "#log", -1)


def test_a_task_does_not_follow_itself(desk: Desk) -> None:
    assert desk.settle(pushed(desk, plan("success", id="a"))) == "OK"
    assert (desk.state("a"), unpushed(desk)) == ("succeeded", 1)


def test_the_key_of_the_chosen_id_belongs_to_another_program(desk: Desk) -> None:
    desk.client.set(desk.keys.task("b"), "rubbish")
    desk.broken.add("b")
    assert desk.settle(pushed(desk, plan("success", id="b"))) == "OK"
    assert (desk.state("a"), unpushed(desk)) == ("succeeded", 1)
    desk.client.delete(desk.keys.task("b"))


# In another pool


@pytest.fixture
def pools(desk: Desk) -> Iterator[Pools]:
    """One pool beside the default one; both are checked at the end."""
    found = Pools(desk.broker, "north")
    yield found
    found.check()


def test_a_message_pushes_it_in_another_pool_once(pools: Pools) -> None:
    desk, north = pools[POOL], pools["north"]
    desk.settle(pushed(desk, plan("success", pool="north")), value=b"7")
    (command,) = pools.take(POOL)
    told = [pools.apply(command)[0] for _ in range(2)]
    pools.tell(POOL, *told)
    assert [each.word for each in told] == ["OK", "OK"]
    lease = north.lease()
    assert (lease.args, followed(desk)) == (b"[[7],{}]", [f"{lease.id}#north"])
    found = north.record(lease.id)
    assert tuple(map(found.own.get, ("follows", "follows_pool", "follows_outcome"))) == ("a", POOL, "success")
    assert (pools.commands(), unpushed(desk)) == (0, 0)


def test_a_message_that_comes_after_the_end_of_what_it_pushed_pushes_nothing(pools: Pools) -> None:
    desk, north = pools[POOL], pools["north"]
    desk.settle(pushed(desk, plan("success", id="b", policy="replace", pool="north")))
    (command,) = pools.take(POOL)
    pools.apply(command)
    assert north.drain() == ["b"]
    pools.apply(command)
    assert (north.state("b"), north.drain()) == ("succeeded", [])
    pools.tell(POOL, *pools.apply(command))


def test_the_message_of_a_lost_process_comes_again(pools: Pools) -> None:
    desk = pools[POOL]
    desk.settle(pushed(desk, plan("success", id="b", pool="north")))
    pools.apply(*pools.take(POOL))  # and the process dies before it says so
    pools.unlock(POOL)
    assert pools.deliver() == 1
    assert pools["north"].drain() == ["b"]


# Of tasks that consist of others


@pytest.mark.parametrize(("outcome", "word"), [(Outcome.SUCCESS, "success"), (Outcome.ERROR, "failure")])
def test_the_end_of_a_chain_is_followed(pools: Pools, outcome: Outcome, word: str) -> None:
    desk, nodes = pools[POOL], pools.nodes(chain_of("c", "x", "y"))
    nodes[0].push.own = (*nodes[0].push.own, *own(plan("success", id="b"), plan("failure", id="d")))
    desk.broker.plant(nodes)
    desk.settle(desk.lease())
    desk.settle(desk.lease(), outcome, b'"end"', delay_ms=-1)
    lease = desk.lease()
    assert (lease.id, desk.record(lease.id).own["follows_outcome"]) == ("b" if word == "success" else "d", word)
    assert b'"end"' in lease.args
