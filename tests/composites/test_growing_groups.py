"""Parts that a running part adds to its group: `current().add(...)`."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Batch, Iterator, LeaseLost, Retry, chain, control, current, group, task
from queueops.errors import BadArguments, BadOption, BrokerUnavailable
from queueops.errors.composites import GroupEnded, NotInGroup, PartInUse
from queueops.kinds.composites.flatten import nodes_of
from queueops.kinds.composites.parts import Composite
from queueops.model.contracts import LeaseRef, RoundTrip
from queueops.redis.broker import get_broker
from queueops.testing import eager, run_worker
from tests.kernel import invariants
from tests.support.tasks_for_tests import add

seen: list[str] = []


@task(retries=2, retry=Retry(delay=0))
def grow(count: int, fails: int = 0) -> str:
    """Add some parts, and two equal ones, before the first attempts fail."""
    for number in range(count):
        current().add(add.s(number, 10))
    current().add(add.s(1, 1), add.s(1, 1))
    if current().attempt <= fails:
        raise ValueError("again")
    return "grown"


@task
def grow_trees(previous: Any = None) -> int:
    """Add a chain and a group."""
    handles = current().add(chain(add.s(1, 1), add.s(5)), group(add.s(1, 2), add.s(2, 3)))
    return len(handles)


@task(retries=0)
def misuse(how: str) -> str:
    """Add what cannot be added."""
    if how in seen and how != "alone":
        return how
    match how:
        case "ended":
            control.cancel([current().root])
            with pytest.raises(GroupEnded, match="has ended"):
                current().add(add.s(1, 1))
        case "alone":
            with pytest.raises(NotInGroup, match="it is not part of one"):
                current().add(add.s(1, 1))
        case "arguments":
            with pytest.raises(BadArguments):
                current().add(add.s("x", "y"))
            assert current().add() == []
            with pytest.raises(BadOption, match="the pool default"):
                current().add(add.using(pool="elsewhere").s(1, 1))
        case "in use":
            add.using(id="taken").postpone(3600, 1, 1)
            with pytest.raises(PartInUse, match="taken"):
                current().add(add.s(2, 2), add.using(id="taken").s(1, 1))
        case "lost":
            control.release([current().id])
            with pytest.raises(LeaseLost):
                current().add(add.s(1, 1))
    seen.append(how)
    return how


class Emits(Iterator):
    """Emits a task that is in no group."""

    def iterate(self, state):
        return None if state else Batch(state=1, tasks=[misuse.s("alone")])


@task(retries=0)
def insist() -> None:
    """Add a part once more after an error, as code does that survives a store that is down."""
    for _ in range(2):
        try:
            current().add(add.s(1, 1))
            break
        except BrokerUnavailable:
            seen.append("again")


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def sound(pool: str = "default") -> None:
    assert get_broker().check(pool).faults == ()
    invariants.check(get_broker(), pool)


def test_a_group_waits_for_the_parts_that_a_part_adds_and_has_their_results(namespace: str) -> None:
    whole = group(grow.s(3), add.s(2, 2)).push()
    run_worker()
    assert whole.result(timeout=5) == ["grown", 4, 10, 11, 12, 2, 2]
    progress = whole.progress
    assert progress is not None
    assert (progress.done, progress.total) == (7, 7)
    sound()


def test_what_runs_again_adds_nothing_twice(namespace: str) -> None:
    whole = group(grow.s(2, fails=2), on_failure="continue").push()
    run_worker()
    assert whole.result(timeout=5) == ["grown", 10, 11, 2, 2]
    assert whole.retry(everything=True)
    run_worker()
    assert whole.result(timeout=5) == ["grown", 10, 11, 2, 2]
    sound()
    failed = group(grow.s(1, fails=3), on_failure="continue").push()
    run_worker()
    assert failed.state == "failed"
    assert failed.retry()  # the one that failed adds the same again
    run_worker()
    record = get_broker().record(failed.pool, failed.id)
    assert record is not None
    assert record.reason.startswith("1 of its 4 children failed")
    sound()


def test_a_call_that_is_made_again_after_its_reply_was_lost_adds_nothing_twice(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = type(get_broker())
    sent = broker.grow

    def lost(self: Any, *given: Any) -> Any:
        answer = sent(self, *given)
        if not seen:
            raise BrokerUnavailable(url="", attempts=1, reason="the reply was lost")
        return answer

    monkeypatch.setattr(broker, "grow", lost)
    whole = group(insist.s(), add.s(2, 2)).push()
    run_worker()
    assert seen == ["again"]
    assert whole.result(timeout=5) == [None, 4, 2]


def test_trees_are_added_to_the_nearest_group_above(namespace: str) -> None:
    whole = chain(add.s(1, 1), group(chain(add.s(1), grow_trees.s())), add.si(0, 0)).push()
    run_worker()
    assert whole.result(timeout=5) == 0
    (inner,) = [part for part in get_broker().parts(whole.pool, whole.id) if part.kind == "group"]
    record = get_broker().record(inner.pool, inner.id)
    assert record is not None
    assert record.result == b"[2,7,[3,5]]"
    progress = whole.progress
    assert progress is not None
    assert (progress.done, progress.total) == (8, 8)
    sound()


def test_a_group_in_another_pool_than_its_chain_grows_too(namespace: str) -> None:
    def there(each: Any) -> Any:
        return each.using(pool="north")

    @task(name="tests.growing.there")
    def grow_there() -> int:
        return len(current().add(there(add).s(1, 1), there(add).s(2, 2)))

    whole = chain(
        add.s(1, 1), group(there(grow_there).si(), there(add).si(3, 3)).using(pool="north"), add.si(4, 4)
    ).push()
    run_worker()
    assert whole.result(timeout=5) == 8
    progress = whole.progress
    assert progress is not None
    assert (progress.done, progress.total) == (6, 6)
    sound()
    sound("north")


def test_a_group_that_has_ended_a_lost_lease_and_wrong_parts_add_nothing(namespace: str) -> None:
    for how in ("ended", "arguments", "in use", "lost"):
        whole = group(misuse.s(how)).push()
        run_worker()
        record = get_broker().record(whole.pool, whole.id)
        assert record is not None
        assert record.own["children"] == 1
    misuse.push("alone")
    Emits.push()
    run_worker()
    assert set(seen) == {"ended", "arguments", "in use", "lost", "alone"}
    assert seen.count("alone") == 2
    sound()


def test_a_repeated_call_counts_once_and_an_old_fence_adds_nothing(namespace: str) -> None:
    broker = get_broker()
    whole = group(add.s(1, 1)).push()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    nodes = nodes_of(Composite("group", [add.s(1, 2), add.s(2, 2)]).using(pool="default"))
    with pytest.raises(LeaseLost):
        broker.grow(LeaseRef("default", lease.id, lease.fence - 1), nodes, "t1")
    for token in ("t1", "t1", "t2"):
        assert broker.grow(LeaseRef("default", lease.id, lease.fence), nodes, token)[0] == "OK"
    record = broker.record(whole.pool, whole.id)
    assert record is not None
    assert (record.own["children"], record.total) == (3, 3)
    sound()


def test_eager_groups_grow_too() -> None:
    with eager():
        assert group(grow.s(1), add.s(2, 2)).push().result() == ["grown", 4, 10, 2, 2]
