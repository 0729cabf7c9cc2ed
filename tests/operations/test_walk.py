"""The walk of an operation: what it changes, what it leaves alone, and how it counts."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from queueops import control, inspect
from queueops.contrib import django_task_kind  # noqa: F401  its listener
from queueops.errors import BadOption, FilterError
from queueops.inspect import TaskQuery
from queueops.kinds.operations.control import VALUES
from queueops.kinds.operations.handlers import order_of
from queueops.kinds.operations.order import OPERATION, Step
from queueops.kinds.operations.store import OperationCalls
from queueops.model.contracts import Lease, Outcome
from queueops.model.sentences import translated
from queueops.redis.broker import get_role
from queueops.tasks import registry
from tests.composites.trees import chain_of, plant
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk
from tests.operations.playing import claimed, part, through


def begin(desk: Desk, verb: str, query: TaskQuery, **given: object) -> Lease:
    """Begin an operation in the pool; its lease."""
    ((_, id),) = control.begin_operation(verb, query, **given)  # type: ignore[arg-type]
    return claimed(desk, id)


def failed(desk: Desk, *ids: str, **fields: object) -> None:
    """Tasks that have failed."""
    desk.push(*ids, **fields)
    for lease in desk.claim(len(ids)):
        desk.settle(lease, "error", b"{}", fingerprint="f1", delay_ms=-1)  # type: ignore[arg-type]


def test_an_operation_changes_all_that_match_in_bounded_calls(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(450)])
    desk.push("other", lane="side")
    lease = begin(desk, "cancel", TaskQuery(state="pending", lane="default"), who="ada", reason="a mistake")
    assert part(lease) == Step("MORE", 30, 30)
    assert desk.client.zcard(desk.keys.state("cancelled")) == 30
    assert through(lease) == Step("END", 450, 450)
    assert desk.state("other") == "pending"
    record = desk.record("t7")
    assert record is not None
    assert (record.state, record.reason) == ("cancelled", "a mistake")
    desk.check()


def test_tasks_that_come_after_the_question_are_left_alone(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(150)])
    asked_ms = inspect.now_ms()
    while inspect.now_ms() == asked_ms:
        pass
    desk.push("late")
    lease = begin(desk, "cancel", TaskQuery(state="pending"), asked_ms=asked_ms)
    part(lease)
    desk.push("later")
    assert through(lease) == Step("END", 150, 150)
    assert (desk.state("late"), desk.state("later")) == ("pending", "pending")


def test_a_task_that_matches_no_more_is_not_counted(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(120)])
    lease = begin(desk, "cancel", TaskQuery(state="pending"))
    part(lease)
    (other,) = desk.claim(1)
    assert through(lease) == Step("END", 119, 119)
    assert desk.state(other.id) == "locked"


def test_at_most_the_confirmed_number_is_changed(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(30)])
    lease = begin(desk, "cancel", TaskQuery(name="tests.noop", state="pending"), most=12)
    assert through(lease) == Step("END", 12, 12)


def test_a_refused_task_is_counted_with_its_reason(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(10)])
    (running,) = desk.claim(1)
    desk.settle(running)
    lease = begin(desk, "cancel", TaskQuery(name="tests.noop"))
    assert through(lease) == Step("END", 10, 9)
    (found,) = inspect.operations()
    assert (found.seen, found.changed, found.left) == (10, 9, 1)
    assert found.why == "cancel is not possible while it is succeeded"
    assert (found.verb, found.filter, found.count) == ("cancel", {"name": "tests.noop"}, 10)


def test_only_the_worker_with_the_lease_goes_on(desk: Desk) -> None:
    """A worker that was thought dead changes nothing; the next one goes on from the place, and all are counted once."""
    desk.push(*[f"t{number}" for number in range(250)])
    lost = begin(desk, "cancel", TaskQuery(state="pending"))
    done = part(lost)
    desk.expire(lost.id)
    next_lease = claimed(desk, lost.id)
    assert part(lost) == Step("STALE", 0, 0)
    assert desk.client.zcard(desk.keys.state("cancelled")) == done.changed
    assert through(next_lease) == Step("END", 250, 250)
    desk.check()


def test_a_paused_operation_waits_and_a_cancelled_one_stops(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(250)])
    lease = begin(desk, "cancel", TaskQuery(state="pending"))
    done = part(lease)
    assert control.pause_operations([lease.id], "default")[0].word == "OK"
    assert control.pause_operations([lease.id], "default")[0].word == "REPEAT"
    assert part(lease) == Step("HELD", done.seen, done.changed)
    assert inspect.operations()[0].is_paused
    assert control.resume_operations([lease.id], "default")[0].word == "OK"
    assert part(lease).seen > done.seen
    control.stop_operations([lease.id], "default")
    assert part(lease).word == "STOP"
    assert control.pause_operations(["nowhere"], "default")[0].word == "GONE"


@pytest.mark.parametrize(
    ("verb", "given", "state"),
    [
        ("cancel", {}, "pending"),
        ("move", {"lane": "side"}, "pending"),
        ("priority", {"priority": 7}, "pending"),
        ("postpone", {"seconds": 3600}, "pending"),
    ],
)
def test_an_undo_takes_back_what_the_operation_changed(
    desk: Desk, verb: str, given: dict[str, object], state: str
) -> None:
    desk.push(*[f"t{number}" for number in range(120)], priority=3)
    desk.push("mine", priority=3)
    desk.control("cancel", "mine")
    lease = begin(desk, verb, TaskQuery(state="pending"), **given)
    assert through(lease) == Step("END", 120, 120)
    desk.settle(lease)
    ((pool, id),) = control.undo_operation(lease.id, "default")
    assert pool == "default"
    assert through(claimed(desk, id)).changed == 120
    records = [desk.record(f"t{number}") for number in range(120)]
    assert {(each.state, each.lane, each.priority) for each in records if each} == {(state, "default", 3)}
    assert desk.state("mine") == "cancelled"
    assert control.undo_operation(id, "default") == []
    desk.check()


def test_the_undo_of_a_delete_brings_the_tasks_back(desk: Desk) -> None:
    failed(desk, *[f"t{number}" for number in range(30)])
    lease = begin(desk, "delete", TaskQuery(error="f1"))
    assert through(lease) == Step("END", 30, 30)
    assert desk.state("t3") == ""
    ((_, id),) = control.undo_operation(lease.id, "default")
    assert through(claimed(desk, id)) == Step("END", 30, 30)
    assert desk.state("t3") == "failed"
    desk.check()


def test_the_undo_of_a_cancel_leaves_tasks_that_had_begun(desk: Desk) -> None:
    desk.push("runs", "waits")
    (running,) = desk.claim(1)
    ((_, id),) = control.begin_operation("cancel", TaskQuery(name="tests.noop"))
    lease = claimed(desk, id)
    assert through(lease) == Step("END", 2, 2)
    desk.settle(running, "cancel", b"stopped")  # type: ignore[arg-type]
    ((_, undo),) = control.undo_operation(lease.id, "default")
    assert through(claimed(desk, undo)).changed == 1
    assert desk.state(running.id) == "cancelled"


def test_the_undo_of_a_cancel_leaves_a_chain_whose_parts_had_begun(desk: Desk) -> None:
    plant(desk, chain_of("c", "one", "two"))
    lease = begin(desk, "cancel", TaskQuery(state="idle"))
    assert through(lease) == Step("END", 1, 1)
    ((_, undo),) = control.undo_operation(lease.id, "default")
    assert through(claimed(desk, undo)).changed == 0
    assert desk.state("c") == "cancelled"


def test_what_an_operation_is_given_is_checked(desk: Desk) -> None:
    desk.push("a")
    with pytest.raises(BadOption):
        control.begin_operation("explode", TaskQuery(state="pending"))
    with pytest.raises(BadOption):
        control.begin_operation("priority", TaskQuery(state="pending"), priority=1000)
    with pytest.raises(BadOption):
        control.begin_operation("delete", TaskQuery(state="pending"), reason="no")
    with pytest.raises(FilterError):
        control.begin_operation("cancel", TaskQuery(id="a"))
    assert control.begin_operation("cancel", TaskQuery(state="failed")) == []
    assert inspect.operations() == []


def test_each_pool_has_its_share_by_its_matching_tasks(desk: Desk) -> None:
    """The index of one pool is larger than the number of all tasks that match."""
    side = Desk(desk.broker, "a")
    failed(side, *[f"x{number}" for number in range(60)])
    for each, prefix in ((side, "a"), (desk, "b")):
        failed(each, *[f"{prefix}{number}" for number in range(30)], lane="bulk")
    begun = control.begin_operation("retry", TaskQuery(lane="bulk", state="failed"), most=60)
    assert sorted(pool for pool, _ in begun) == ["a", "default"]
    for pool, id in begun:
        assert through(claimed(side if pool == "a" else desk, id)) == Step("END", 30, 30)
    assert not any(each.is_cut for each in inspect.operations())


def test_a_pool_without_a_share_says_that_tasks_are_left(desk: Desk) -> None:
    """No counter knows the tasks of a tag by state: each pool's index is an upper bound."""
    side = Desk(desk.broker, "a")
    for each, prefix in ((side, "a"), (desk, "b")):
        each.push(*[f"{prefix}{number}" for number in range(20)], tags=("t1",))
    begun = dict(control.begin_operation("cancel", TaskQuery(tag="t1", lane="default"), most=20))
    assert through(claimed(side, begun["a"])) == Step("END", 20, 20)
    assert through(claimed(desk, begun["default"])) == Step("END", 0, 0)
    assert {each.pool: each.is_cut for each in inspect.operations()} == {"default": True, "a": False}


def test_an_operation_that_was_cut_says_so(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(130)])
    for most, is_cut in ((10, True), (120, False)):
        lease = begin(desk, "cancel", TaskQuery(state="pending"), most=most)
        assert through(lease) == Step("END", most, most)
        desk.settle(lease)
        assert inspect.operations()[0].is_cut is is_cut


def test_a_preview_says_what_an_operation_would_meet_and_changes_nothing(desk: Desk) -> None:
    desk.push(*[f"n{number}" for number in range(20)], name="f.noop", tags=("red",))
    desk.push(*[f"m{number}" for number in range(5)], name="f.mail", tags=("red",))
    desk.push("other", tags=("blue",))
    for lease in desk.claim(3):
        desk.settle(lease)
    found = inspect.operation_preview("cancel", TaskQuery(tag="red"), asked_ms=inspect.now_ms())
    assert (found.matched, found.whole, found.names) == (25, True, (("f.noop", 20), ("f.mail", 5)))
    assert found.refused == (("cancel is not possible while it is succeeded", 3),)
    assert (found.left, found.parts) == (3, ())
    assert desk.state("m1") == "pending"
    lease = begin(desk, "cancel", TaskQuery(tag="red"))
    assert through(lease) == Step("END", found.matched, found.matched - found.left)


def test_reasons_of_a_preview_that_differ_by_an_id_alone_are_one(desk: Desk) -> None:
    for letter in "cd":
        plant(desk, chain_of(letter * 60, f"{letter}1"))
        desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored(message="boom"))
    found = inspect.operation_preview("retry", TaskQuery(state="failed", kind="task"), asked_ms=inspect.now_ms())
    ((reason, number),) = found.refused
    assert (number, reason.startswith("it is part of …, which has failed: retry that")) == (2, True)
    with override("de"):
        assert translated(reason).startswith("er ist Teil von … im Zustand „fehlgeschlagen“")


def test_a_preview_looks_at_a_bounded_number_of_tasks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queueops.kinds.operations.preview.MOST", 10)
    desk.push(*[f"t{number}" for number in range(30)])
    found = inspect.operation_preview("priority", TaskQuery(state="pending"), asked_ms=inspect.now_ms())
    assert (found.looked, found.matched, found.whole) == (10, 10, False)
    monkeypatch.setattr("queueops.kinds.operations.preview.MOST", 30)
    assert inspect.operation_preview("priority", TaskQuery(state="pending"), asked_ms=inspect.now_ms()).whole
    assert inspect.operation_preview("retry", TaskQuery(state="failed"), asked_ms=inspect.now_ms()).matched == 0


def test_a_step_names_the_cancelled_tasks_of_the_kinds_with_a_listener(desk: Desk) -> None:
    """Plain tasks have none: to name them would cost the worker a read for each."""
    desk.push("plain", "other")
    desk.push("told", kind="django_task")
    lease = begin(desk, "cancel", TaskQuery(state="pending"))
    order, store = order_of(OPERATION, lease.args), get_role(OperationCalls)
    step = store.operate(lease.pool, lease.id, lease.fence, order, tells=registry.kinds_told())
    assert (step.changed, step.cancelled) == (3, ("told",))


GIVEN: dict[str, dict[str, object]] = {
    "keep": {"seconds": 0.5},
    "move": {"lane": "side"},
    "postpone": {"seconds": 60},
    "priority": {"priority": 1},
}


@pytest.mark.parametrize("verb", sorted(VALUES))
def test_each_verb_is_previewed_and_done_on_what_allows_it(desk: Desk, verb: str) -> None:
    failed(desk, "f1", "f2")
    desk.push("p1", "p2")
    desk.push("later", delay_ms=60_000)
    query = TaskQuery(name="tests.noop")
    found = inspect.operation_preview(verb, query, asked_ms=inspect.now_ms())
    step = through(begin(desk, verb, query, **GIVEN.get(verb, {})))
    assert (step.word, step.seen) == ("END", 5)
    assert step.changed == found.matched - found.left
    desk.check()
