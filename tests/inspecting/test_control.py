from __future__ import annotations

from inspect import signature
from typing import Any

import pytest

from queueops import control, inspect
from queueops.control.verbs import ON_TASKS
from queueops.errors import BadArguments, BadId, BadOption, NotEncodable, TooMany, UnknownLane
from queueops.model.contracts import Outcome, Push, Row
from queueops.model.states import State, table
from queueops.tasks import registry
from queueops.tasks.handlers import FunctionHandler
from tests.inspecting.errors import stored
from tests.kernel.desk import NEVER_MS, Desk


def add(left: int, right: int = 1) -> int:
    return left + right


@pytest.fixture
def known_task() -> str:
    """A task that this process knows, with its signature."""
    registry.register(FunctionHandler(add, "known.add", (Exception,)))
    yield "known.add"
    registry.unregister("task", "known.add")


def words(rows: list[control.Row]) -> list[str]:
    return [row.word for row in rows]


def in_state(desk: Desk, state: State) -> str:
    """The id of a task in this state, or none where a plain task never gets there."""
    desk.push("t", delay_ms=60_000 if state == "postponed" else None)
    if state in ("pending", "postponed"):
        return "t"
    lease = desk.lease()
    match state:
        case State.SUCCEEDED:
            desk.settle(lease)
        case State.FAILED | State.RESTART:
            desk.settle(lease, Outcome.ERROR, delay_ms=60_000 if state == "restart" else -1, **stored())
        case State.CANCELLED:
            desk.settle(lease, Outcome.CANCEL, value=b"no")
        case State.QUARANTINED:
            desk.settle(lease, Outcome.QUARANTINE, value=b"no")
    return "t"


REACHED = [state for state in table().states if state not in ("waiting", "mapping", "reducing", "idle", "aggregating")]
VERBS = {
    "retry": lambda ids: control.retry(ids),
    "reinstate": lambda ids: control.reinstate(ids),
    "run_now": lambda ids: control.run_now(ids),
    "postpone": lambda ids: control.postpone(ids, seconds=60),
    "cancel": lambda ids: control.cancel(ids, "why"),
    "release": lambda ids: control.release(ids),
    "delete": lambda ids: control.delete(ids),
    "requeue": lambda ids: control.requeue(ids),
    "discard": lambda ids: control.discard(ids),
    "priority": lambda ids: control.set_priority(ids, 5),
    "move": lambda ids: control.move(ids, "side"),
    "keep": lambda ids: control.keep(ids, 60),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", REACHED)
def test_a_verb_is_done_where_the_state_allows_it_and_refused_where_not(desk: Desk, state: State, verb: str) -> None:
    if state is State.RESTART:
        desk.push("filler")  # so that the retries of `t` below are its own
        desk.control("cancel", "filler")
    id = in_state(desk, state) if state is not State.RESTART else _backing_off(desk)
    assert desk.state(id) == state
    (row,) = VERBS[verb]([id])
    if verb in table().actions[state]:
        assert row.word == "OK"
    else:
        assert (row.word, row.state) == ("REFUSED", state)
        assert row.detail == f"{verb} is not possible while it is {state}"
        assert desk.state(id) == state


def _backing_off(desk: Desk) -> str:
    desk.push("t", retries=3)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=60_000, **stored())
    return "t"


def test_rows_are_answered_in_order_whatever_pool_they_are_in(desk: Desk) -> None:
    desk.push("a", "b")
    desk.broker.push([Push(id="m", name="add", pool="mail")])
    rows = control.cancel(["m", "nobody", "a", "m"], "over", who="ann")
    assert [(row.id, row.word) for row in rows] == [("m", "OK"), ("nobody", "GONE"), ("a", "OK")]
    assert rows[1].detail == "there is no task of this id"
    assert words(control.cancel(["b"], pool="mail")) == ["GONE"]
    assert words(control.cancel(["b"], pool="typo")) == ["GONE"]
    assert "typo" not in desk.broker.pools()


def test_more_than_500_are_refused_before_anything_is_done(desk: Desk) -> None:
    desk.push("t0")
    with pytest.raises(TooMany):
        control.cancel([f"t{number}" for number in range(501)])
    assert desk.state("t0") == "pending"
    assert control.cancel([]) == []


def test_a_deleted_task_comes_back_from_the_trash(desk: Desk) -> None:
    desk.push("t")
    desk.settle(desk.lease())
    assert words(control.delete(["t"])) == ["OK"]
    assert words(control.delete(["t"])) == ["REPEAT"]
    assert words(control.restore(["t"])) == ["OK"]
    assert desk.state("t") == "succeeded"
    assert words(control.restore(["t", "nobody"])) == ["REFUSED", "GONE"]


def test_two_calls_with_one_token_are_one_action(desk: Desk) -> None:
    desk.push("a", "b")
    for lease in desk.claim(2):
        desk.settle(lease)
    assert words(control.retry(["a"], token="t1")) == ["OK"]
    desk.settle(desk.lease())
    assert words(control.retry(["a", "b"], token="t1")) == ["OK", "OK"]
    assert [desk.state(id) for id in "ab"] == ["succeeded", "pending"]
    assert words(control.delete(["a"], token="t2")) == ["OK"]
    assert words(control.delete(["a"], token="t2")) == ["OK"]
    assert control.delete(["a"], token="t3")[0].detail == "it is in the trash already"
    assert words(control.restore(["a"], token="t4")) == ["OK"]
    assert control.restore(["a"], token="t4") == [Row("a", "OK", "succeeded")]
    desk.check()


def test_what_an_action_has_changed_is_told_afterwards_and_changes_nothing(desk: Desk) -> None:
    desk.push("a", "b", "c", "d")
    desk.broker.push([Push(id="m", name="add", pool="mail")])
    control.cancel(["a", "m"], token="whole.1")
    control.cancel(["b"], token="whole.12")
    control.cancel(["d"])
    control.delete(["d"], token="whole.1")
    once = desk.everything()
    ids = ["m", "a", "b", "c", "d", "nobody"]
    found = [(row.word, row.state) for row in control.recall(ids, token="whole.1")]
    assert found == [
        ("OK", "cancelled"),
        ("OK", "cancelled"),
        ("REFUSED", "cancelled"),
        ("REFUSED", "pending"),
        ("OK", ""),
        ("GONE", ""),
    ]
    assert words(control.recall(ids, token="whole")) == ["OK", "OK", "OK", "REFUSED", "OK", "GONE"]
    assert words(control.recall(["a"], "mail", token="whole")) == ["GONE"]
    assert words(control.recall(["a"], token="w")) == ["REFUSED"]
    assert desk.everything() == once


def test_a_token_and_a_list_that_are_too_long_are_refused(desk: Desk) -> None:
    desk.push("a")
    with pytest.raises(BadOption, match="token"):
        control.cancel(["a"], token="x" * 201)
    with pytest.raises(TooMany):
        control.recall([f"t{number}" for number in range(501)], token="t")
    assert desk.state("a") == "pending"


def test_what_has_no_record_can_be_discarded_by_its_id_alone(desk: Desk) -> None:
    desk.push("t")
    desk.client.delete(desk.keys.task("t"))
    desk.exchange(want=1)
    assert inspect.why("t")[-1].verb == "discard"
    assert words(control.discard(["t"])) == ["OK"]
    assert inspect.task("t") is None


def test_a_task_is_postponed_by_redis_clock(desk: Desk) -> None:
    desk.push("t")
    control.postpone(["t"], seconds=90)
    task = inspect.task("t")
    assert task is not None
    assert task.due_ms == pytest.approx(desk.now() + 90_000, abs=2000)
    control.postpone(["t"], until_ms=desk.now() + 5_000_000)
    task = inspect.task("t")
    assert task is not None
    assert task.due_ms == pytest.approx(desk.now() + 5_000_000, abs=2000)


def test_values_out_of_range_are_refused_with_advice(desk: Desk) -> None:
    desk.push("t")
    for call in (
        lambda: control.postpone(["t"]),
        lambda: control.postpone(["t"], seconds=1, until_ms=1),
        lambda: control.postpone(["t"], seconds=-1),
        lambda: control.postpone(["t"], seconds=1e12),
        lambda: control.postpone(["t"], until_ms=10**18),
        lambda: control.set_priority(["t"], 101),
        lambda: control.keep(["t"], float("nan")),
        lambda: control.set_lane("default", "default", limit=0),
        lambda: control.set_lane("default", "default", weight=0),
        lambda: control.set_lane("default", "default", rate=0),
        lambda: control.set_lane("default", "default", rate=float("nan")),
        lambda: control.set_lane("default", "default", rate=100_001),
        lambda: control.pause_lane("typo", "default"),
        lambda: control.postpone(["t"], seconds="soon"),  # type: ignore[arg-type]
        lambda: control.postpone(["t"], until_ms="noon"),  # type: ignore[arg-type]
        lambda: control.set_priority(["t"], "high"),  # type: ignore[arg-type]
        lambda: control.keep(["t"], "long"),  # type: ignore[arg-type]
        lambda: control.set_lane("default", "default", limit="x"),  # type: ignore[arg-type]
        lambda: control.set_lane("default", "default", limit=True),
        lambda: control.set_lane("default", "default", limit=1.5),  # type: ignore[arg-type]
        lambda: control.set_lane("default", "default", rate="fast"),  # type: ignore[arg-type]
        lambda: control.set_lane("default", "default", weight=None, rate=[]),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadOption):
            call()
    with pytest.raises(BadId):
        control.move(["t"], "no lane")
    with pytest.raises(BadId):
        control.pause_lane("default", "<script>")


def test_edited_arguments_are_checked_against_the_signature(desk: Desk, known_task: str) -> None:
    desk.push("t", name=known_task, args=b"[[1],{}]")
    with pytest.raises(BadArguments):
        control.edit_and_retry("t", ["one"], {})
    with pytest.raises(BadArguments):
        control.edit_and_retry("t", [], {"lefty": 1})
    row = control.edit_and_retry("t", [4], {"right": 5}, who="ann")
    assert (row.word, row.state) == ("OK", "pending")
    record = desk.record("t")
    assert record is not None
    assert record.args == b'[[4],{"right":5}]'


def test_an_ended_task_is_edited_and_run_again(desk: Desk) -> None:
    desk.push("t", name="nobody.knows", args=b"[[1],{}]")
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored())
    assert control.edit_and_retry("t", [], {}).word == "OK"
    lease = desk.lease()
    assert (lease.args, lease.attempt) == (b"", 1)
    row = control.edit_and_retry("t", [1], {})
    assert (row.word, row.detail) == ("REFUSED", "edit is not possible while it is locked")
    assert control.edit_and_retry("nobody", [1], {}).word == "GONE"
    with pytest.raises(NotEncodable):
        control.edit_and_retry("t", [object()], {})


def test_what_can_be_no_argument_is_refused_by_our_own_error(desk: Desk) -> None:
    wrong: list[Any] = [
        lambda: control.retry("op"),  # type: ignore[arg-type]  # not the tasks o and p
        lambda: control.retry(None),  # type: ignore[arg-type]
        lambda: control.keep(["a"], "x"),  # type: ignore[arg-type]
        lambda: control.postpone(["a"], seconds="x"),  # type: ignore[arg-type]
        lambda: control.postpone(["a"], until_ms="x"),  # type: ignore[arg-type]
        lambda: control.cancel(["a"], None),  # type: ignore[arg-type]
        lambda: control.set_priority(["a"], 1.0),  # type: ignore[arg-type]
    ]
    for call in wrong:
        with pytest.raises(BadOption):
            call()


def test_lanes_are_paused_resumed_and_set(desk: Desk) -> None:
    desk.push("t", lane="side")
    assert control.pause_lane("default", "side") == {}
    assert desk.claim(1) == []
    assert control.set_lane("default", "side", limit=2, weight=3) == {"paused": "1"}
    assert control.resume_lane("default", "side") == {"paused": "1", "limit": "2", "weight": "3"}
    assert control.set_lane("default", "side", limit=None) == {"limit": "2", "weight": "3"}
    assert len(desk.claim(1)) == 1
    assert control.set_lane("default", "side", rate=0.5) == {"weight": "3"}
    assert control.set_lane("default", "side", rate=None) == {"rate": "0.5", "weight": "3"}


def test_a_lane_that_does_not_exist_is_refused_and_not_made(desk: Desk) -> None:
    desk.push("t", lane="side")
    for call in (control.pause_lane, control.resume_lane, control.set_lane):
        with pytest.raises(UnknownLane, match="'sid'; did you mean 'side'"):
            call("default", "sid")
    assert [row.lane for row in inspect.lanes()] == ["side"]


def test_a_declared_lane_and_the_default_one_are_paused_before_their_first_task(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"mail": {"lanes": {"slow": {}}}}}
    assert control.pause_lane("mail", "slow") == {}
    assert control.pause_lane("mail", "default") == {}


def test_workers_are_told_through_their_wake_up_line(desk: Desk) -> None:
    desk.broker.beat("default", "w1", {"host": "h"})
    assert control.quiet_worker("w1")
    assert control.stop_worker("w1")
    assert not control.stop_worker("nobody")
    assert desk.client.lrange(desk.keys.wake("w1"), 0, 9) == [b"quiet", b"stop"]


def test_a_lane_that_holds_but_postponed_tasks_can_be_paused(desk: Desk) -> None:
    desk.push("a", lane="tenant-1", delay_ms=NEVER_MS)
    desk.push("b")
    desk.control("postpone", "b", value=desk.now() + NEVER_MS)
    desk.control("move", "b", value="tenant-2")
    for lane in ("tenant-1", "tenant-2"):
        assert control.pause_lane("default", lane) == {}
    assert {"tenant-1", "tenant-2"} <= {row.lane for row in inspect.lanes()}
    desk.control("run_now", "a", "b")
    assert desk.claim(2) == []


def test_each_verb_names_a_function_that_takes_its_arguments() -> None:
    for verb in ON_TASKS.values():
        given = {**verb.fixed, **dict.fromkeys((*verb.takes, "pool", "who", "token"))}
        signature(getattr(control, verb.function or verb.name)).bind([], **given)
