"""A kind in one folder is pushed, run, retried, cancelled, thrown away, expired, shown, acted on and checked."""

from __future__ import annotations

import os
import pickle
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueops import control, get, inspect
from queueops.management.queue.task_view import shown_task
from queueops.model import kinds, states
from queueops.model.contracts import Lease, Outcome
from queueops.model.states import State
from queueops.redis.broker import broker_class, forget_brokers, get_broker, get_role
from queueops.redis.wrong_types import foreign_keys
from queueops.tasks import registry
from queueops.testing import eager, run_worker
from tests.kernel.conftest import desk_class, make_desk  # noqa: F401  fixtures
from tests.kernel.desk import FOREVER, POOL, Desk, make
from tests.kernel.picture import SHAPES
from tests.kernel.test_fsck import checked
from tests.kinds.sample import KIND, NAME, Rounds, registered
from tests.kinds.sample import why as sample_why
from tests.kinds.sample.store import RoundCalls
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def sample(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kind is registered, and the checks know the key of its rounds."""
    monkeypatch.setitem(SHAPES, r"(task|trash):[^#]+#rounds", "list")
    with registered(lambda context: context.id):
        yield


@pytest.fixture(params=[0, FOREVER], ids=["function", "script"])
def desk(request: pytest.FixtureRequest, make_desk: Callable[..., Desk]) -> Desk:  # noqa: F811
    """A desk that calls functions, or sends scripts."""
    found = make_desk()
    found.broker.scripts.without_functions(request.param)
    return found


def rounds(desk: Desk, task_id: str = "a") -> list[bytes]:
    """The values of the rounds that have ended."""
    return desk.client.lrange(desk.keys.task(task_id) + "#rounds", 0, -1)


def pushed(desk: Desk, *ids: str, **fields: Any) -> None:
    """Tasks of the kind."""
    desk.push(*(ids or ("a",)), name=NAME, kind=KIND.name, **fields)


def turn(desk: Desk, value: bytes = b"1") -> Lease:
    """One round."""
    lease = desk.lease()
    assert desk.settle(lease, value=value) == "OK"
    return lease


def test_it_succeeds_after_its_third_round(desk: Desk) -> None:
    pushed(desk)
    for value, state in ((b"1", "pending"), (b"2", "pending"), (b"3", "succeeded")):
        assert turn(desk, value).kind == KIND.name
        assert desk.state("a") == state
    assert (rounds(desk), desk.record("a").result) == ([b"1", b"2", b"3"], b"3")
    assert b"3 until it was succeeded" in desk.client.lindex(desk.keys.task("a") + "#log", -1)


def test_its_field_is_read_shown_and_checked(desk: Desk) -> None:
    pushed(desk)
    turn(desk)
    assert desk.record("a").own == {"rounds_ended": 1}
    desk.client.hset(desk.keys.task("a"), "zr", "many")
    assert desk.record("a").own == {}
    text = 'its rounds_ended is "many", not a number'
    waiting = "state:pending 0"
    assert [fault.text for fault in desk.broker.check(POOL, waiting, repair=True).faults] == [text]
    assert desk.client.hget(desk.keys.task("a"), "zr") is None
    assert desk.broker.check(POOL, waiting).faults == ()


def test_it_runs_its_rounds_within_the_push_in_eager_mode() -> None:
    with eager() as broker:
        broker.push([make("a", name=NAME, kind=KIND.name)])
        record = broker.record(POOL, "a")
    assert record is not None
    assert (record.state, record.own) == ("succeeded", {"rounds_ended": 3})


def test_a_round_that_fails_is_an_attempt_and_its_retry_begins_anew(desk: Desk) -> None:
    pushed(desk, retries=0)
    turn(desk)
    assert desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1) == "OK"
    assert (desk.state("a"), rounds(desk)) == ("failed", [b"1"])
    assert desk.told("retry", "a") == "OK"
    assert (desk.state("a"), rounds(desk)) == ("pending", [])


def test_a_cancel_between_two_rounds_and_in_one(desk: Desk) -> None:
    pushed(desk, "a", "b")
    turn(desk)
    assert desk.told("cancel", "a") == "OK"
    assert desk.state("a") == "cancelled"
    lease = desk.lease()
    assert desk.told("cancel", lease.id) == "OK"
    assert desk.settle(lease) == "OK"
    assert (desk.state("b"), rounds(desk, "b")) == ("cancelled", [b"null"])


def test_what_belongs_to_it_goes_to_the_trash_comes_back_and_expires_with_it(desk: Desk) -> None:
    pushed(desk)
    for _ in range(3):
        turn(desk)
    assert desk.told("delete", "a", value="1000000") == "OK"
    assert rounds(desk) == []
    assert desk.told("restore", "a") == "OK"
    assert len(rounds(desk)) == 3
    desk.make_due("a")
    desk.tick()
    assert (desk.state("a"), rounds(desk)) == ("", [])
    assert [key for key in desk.client.keys("*") if b"rounds" in key] == []


@pytest.mark.parametrize("place", ["task", "trash"])
def test_a_key_of_its_rounds_of_another_type_is_named(desk: Desk, place: str) -> None:
    key = f"{desk.keys.prefix}:{place}:a#rounds"
    desk.client.set(key, "1")
    faults = [fault.text for fault in desk.broker.check(POOL, "records 0").faults]
    assert [text for text in faults if text.startswith(f"{key} is a string, not a list.")]
    desk.push("a")
    assert f"{key} is a string, not a list" in foreign_keys(desk.client, desk.keys, about=["a"])
    desk.client.delete(key)


@pytest.mark.parametrize("trash", [False, True], ids=["retention", "trash"])
def test_a_long_list_of_rounds_is_freed_in_the_background(desk: Desk, trash: bool) -> None:
    pushed(desk)
    for _ in range(3):
        turn(desk)
    desk.client.rpush(desk.keys.task("a") + "#rounds", *[b"x" * 1000] * 10_000)
    if trash:
        assert desk.told("delete", "a", value="1000000") == "OK"
    before = desk.client.info("memory")["lazyfreed_objects"]
    desk.make_due("~trash:a" if trash else "a")
    desk.tick()
    assert not desk.client.exists(desk.keys.task("a") + "#rounds", desk.keys.trash("a") + "#rounds")
    wait_until(lambda: desk.client.info("memory")["lazyfreed_objects"] > before)


def test_it_refuses_a_verb_for_a_reason_of_its_own(desk: Desk) -> None:
    pushed(desk)
    (row,) = desk.control("edit", "a", value="[[1],{}]")
    assert (row.word, row.detail) == ("REFUSED", "its rounds have no arguments")


def test_the_consistency_check_asks_it(desk: Desk) -> None:
    pushed(desk)
    for _ in range(3):
        turn(desk)
    desk.client.ltrim(desk.keys.task("a") + "#rounds", 0, 1)
    assert [fault.text for fault in desk.broker.check(POOL).faults] == ["it has succeeded after 2 rounds"]


def test_a_lease_that_expires_repeats_the_round(desk: Desk) -> None:
    pushed(desk)
    turn(desk)
    desk.expire(desk.lease().id)
    turn(desk, b"2")
    turn(desk, b"3")
    assert (desk.state("a"), rounds(desk)) == ("succeeded", [b"1", b"2", b"3"])


def test_a_worker_holds_it_in_a_state_of_its_own_which_is_counted(desk: Desk) -> None:
    pushed(desk, "a", "b")
    lease = desk.lease()
    assert desk.states("a", "b") == ["turning", "pending"]
    assert desk.client.zrange(desk.keys.state("turning"), 0, -1) == [b"a"]
    assert desk.broker.held(POOL, "w1") == [("a", lease.fence, False)]
    assert (desk.counted("tr|pending>turning"), desk.counted("tr|pending>locked")) == (1, 0)
    desk.check()
    assert desk.told("release", "a") == "OK"
    assert desk.state("a") == "pending"


def test_its_leases_are_taken_back_from_a_dead_worker(desk: Desk) -> None:
    pushed(desk)
    desk.lease()
    assert desk.broker.recover(POOL, "w1", {}) == 1
    assert (desk.state("a"), desk.broker.held(POOL, "w1")) == ("pending", [])
    desk.lease()
    desk.expire("a")
    assert (desk.state("a"), desk.record("a").crashes) == ("pending", 1)
    desk.check()


def test_a_function_of_its_own_lets_it_rest_in_a_parked_state(desk: Desk) -> None:
    pushed(desk, "a", "b")
    assert [desk.broker.rest(POOL, "a") for _ in range(2)] == ["OK", "REFUSED"]
    assert (desk.state("a"), desk.drain()) == ("resting", ["b", "b", "b"])
    desk.check()
    assert desk.broker.rest(POOL, "a", ends=True) == "OK"
    assert desk.lease().id == "a"
    assert desk.broker.rest(POOL, "nothing") == "GONE"


def test_a_rest_is_cancelled_and_refuses_other_verbs(desk: Desk) -> None:
    pushed(desk)
    desk.broker.rest(POOL, "a")
    assert desk.told("retry", "a") == desk.told("release", "a") == "REFUSED"
    assert desk.told("cancel", "a") == "OK"
    assert desk.state("a") == "cancelled"


def test_the_consistency_check_knows_the_places_of_its_states(desk: Desk) -> None:
    pushed(desk, "a", "b")
    desk.broker.rest(POOL, "b")
    desk.lease()
    desk.client.zrem(desk.keys.agenda, "a")
    desk.client.zadd(desk.keys.lane("default"), {"b": 1})
    found = checked(desk, repair=True)
    assert {"a: it is turning, and not on the agenda", "b: it is resting, and in its lane"} <= found
    assert checked(desk) == set()
    desk.check()


def test_the_consistency_check_walks_along_the_indexes_of_its_states(desk: Desk) -> None:
    pushed(desk)
    walked = {after := desk.broker.check(POOL).next}
    while after := desk.broker.check(POOL, after).next:
        walked.add(after)
    assert {"state:turning 0", "state:resting 0", "state:pending 0"} <= walked


def test_its_states_stand_beside_those_of_their_class_and_not_in_the_docs() -> None:
    assert states.table().leased == ("locked", "mapping", "reducing", "turning")
    assert states.table().under_way[-3:] == ("idle", "aggregating", "resting")
    assert State("turning") is State("turning")
    assert repr(State("turning")) == "<State.TURNING: 'turning'>"
    assert pickle.loads(pickle.dumps(State("resting"))) == "resting"
    assert {"mapping", "turning"} & {*re.findall(r"\w+", states.as_markdown())} == {"mapping"}
    with pytest.raises(ValueError, match="'dancing' is not a valid State"):
        State("dancing")


@pytest.fixture
def current(namespace: str) -> Desk:
    """A desk on the store of the settings, which the public functions ask."""
    return Desk(get_broker())


def test_its_modules_bring_results_actions_questions_and_checks(current: Desk) -> None:
    pushed(current)
    for value in (b"1", b"2", b"3"):
        turn(current, value)
    assert get("a").result(timeout=10) == [1, 2, 3]
    assert inspect.rounds("a") == ["1", "2", "3"]
    assert "3 rounds have ended." in [finding.text for finding in inspect.why("a")]
    assert control.run_rounds_again("a").word == "OK"
    assert inspect.rounds("a") == []


def test_its_states_are_seen_by_handles_lists_and_questions(current: Desk) -> None:
    pushed(current, "a", "b")
    current.lease()
    assert control.rest("b") == "OK"
    assert (get("a").state, get("b").status().state) == ("turning", "resting")
    counts = inspect.snapshot().states
    assert (counts["turning"], counts["resting"], counts["pending"]) == (1, 1, 0)
    (row,) = inspect.tasks(inspect.TaskQuery(state="resting").checked()).rows
    assert row.id == "b"
    assert [moment.state for moment in inspect.task("a").timeline] == ["", "turning"]
    assert [finding.text for finding in inspect.why("b")] == ["The task rests before its next round."]
    assert control.end_rest("b") == "OK"
    assert get("b").state == "pending"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # that a process with threads forks
def test_a_round_whose_worker_is_killed_runs_again(current: Desk) -> None:
    pushed(current)
    pid = os.fork()
    if not pid:
        try:
            registry.unregister_resolver(KIND.name)
            registry.register_resolver(KIND.name, lambda _: Rounds(lambda _: os.kill(os.getpid(), signal.SIGKILL)))
            run_worker()
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert current.state("a") == "turning"
    current.expire("a")
    assert (current.state("a"), current.record("a").crashes) == ("pending", 1)
    assert run_worker() == 3
    assert get("a").result(timeout=10) == ["a", "a", "a"]


def test_a_parked_state_of_which_its_kind_tells_nothing_is_named(
    current: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_why, "parked", lambda *_: None)
    pushed(current)
    control.rest("a")
    (finding,) = inspect.why("a")
    assert (finding.text, finding.verb) == ("The task waits in the state resting.", "cancel")


def test_its_field_has_its_name_among_the_fields_of_a_task(current: Desk) -> None:
    pushed(current)
    turn(current)
    assert inspect.raw("a")["zr (rounds_ended)"] == "1 ended"


def test_a_terminal_shows_what_it_brings_and_asks_about_it(current: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    pushed(current)
    turn(current, b"7")
    task = inspect.task("a")
    assert task is not None
    assert re.search(r"^rounds +7$", shown_task(task), re.M)
    for command in (["edit", "a", "--args", "[1]"], ["flush", "--force"]):
        with pytest.raises(CommandError, match="Nothing was done"):
            call_command("queue", *command)
    assert asked[0] == "Throw the rounds of a away? [y/N] "
    assert "the trash, schedules, lanes and limits, metrics?" in asked[1]


def test_a_broker_without_the_kind_does_not_have_its_calls(current: Desk) -> None:
    assert isinstance(current.broker, RoundCalls)
    kinds.KINDS = kinds.KINDS[:-1]
    kinds.forget()
    broker_class.cache_clear()
    forget_brokers()
    with pytest.raises(LookupError, match="no registered kind brings RoundCalls to the broker"):
        get_role(RoundCalls)
    with pytest.raises(AttributeError, match=r"module 'queueops\.inspect' has no attribute 'rounds'"):
        inspect.rounds  # noqa: B018
