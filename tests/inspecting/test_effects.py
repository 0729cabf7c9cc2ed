"""A part that is cancelled alone counts as failed in what it is part of: that is said before, and it is so."""

from __future__ import annotations

import pytest

from queueops import control, inspect
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.composites.trees import Tree, chain_of, group_of, plant
from tests.composites.work import Count
from tests.inspecting.test_queue_command import failing, queue
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


def said(verb: str, id: str) -> tuple[str, ...]:
    task = inspect.task(id)
    assert task is not None
    return inspect.effects(verb, task)


GROUPS = {
    "fail": ("fails at once, and its open parts are cancelled", "failed", "cancelled"),
    "continue": ("waits for its other parts, then fails", "idle", "pending"),
    "outcomes": ("continues, and lists the failure in its outcomes", "idle", "pending"),
}


@pytest.mark.parametrize("policy", GROUPS)
def test_what_is_said_of_a_group_is_what_happens(desk: Desk, policy: str) -> None:
    words, group_after, other_after = GROUPS[policy]
    plant(desk, group_of("g", "a", "b", **({} if policy == "fail" else {"of": policy})))
    (sentence,) = said("cancel", "a")
    assert (
        f'The task is part of the group g (on_failure="{policy}") and counts as failed there: the group {words}.'
        == sentence
    )
    control.cancel(["a"], "by hand")
    assert desk.states("a", "g", "b") == ["cancelled", group_after, other_after]
    desk.drain()
    assert desk.state("g") == ("succeeded" if policy == "outcomes" else "failed")
    if policy == "outcomes":
        assert b'"state":"cancelled"' in desk.record("g").result


@pytest.mark.parametrize("part", ["a", "b"])
def test_what_is_said_of_a_chain_is_what_happens_whether_the_part_has_begun_or_not(desk: Desk, part: str) -> None:
    plant(desk, chain_of("c", "a", "b", "z"))
    (sentence,) = said("cancel", part)
    assert sentence.startswith("The task is part of the chain c and")
    assert "the chain fails at once, and its later parts are cancelled" in sentence
    control.cancel([part], "by hand")
    assert desk.states("c", "a", "b", "z") == ["failed", "cancelled", "cancelled", "cancelled"]
    assert desk.record("c").reason == f"its child {part} was cancelled: by hand"


def test_a_part_that_runs_is_asked_to_stop_and_counts_when_it_has(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    lease = desk.lease()
    assert said("cancel", "a")
    control.cancel(["a"])
    assert desk.states("c", "a") == ["idle", "locked"]
    desk.settle(lease, Outcome.CANCEL, b"cancelled by an operator")
    assert desk.states("c", "a", "b") == ["failed", "cancelled", "cancelled"]


def test_what_is_above_the_parent_and_what_is_below_the_task_is_said_too(desk: Desk) -> None:
    plant(desk, chain_of("root", group_of("g", chain_of("c", "a", "b"), "x"), "z"))
    below, above, further = said("cancel", "c")
    assert below == "Its 2 open parts are cancelled too."
    assert "the group g (" in above
    assert further == "If that parent fails, it counts as failed in its own parent root."
    control.cancel(["c"])
    assert desk.states("root", "g", "c", "a", "b", "x", "z") == ["failed", "failed"] + ["cancelled"] * 5


def test_nothing_is_said_of_what_reaches_nobody(desk: Desk) -> None:
    desk.push("alone")
    plant(desk, chain_of("c", "a", "b"))
    assert said("cancel", "alone") == ()
    assert said("postpone", "a") == ()
    desk.settle(desk.lease())  # alone
    desk.settle(desk.lease())
    assert said("cancel", "a") == ()  # it has ended
    desk.client.hset(desk.keys.task("b"), "pu", 999_999)
    assert said("cancel", "b") == ()  # its chain was run anew since
    desk.broken |= {"b", "c"}


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("policy", ["fail", "continue"])
def test_what_is_said_of_an_iterator_is_what_happens(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, handle = Desk(get_broker()), Count.push(4)
    lease = desk.lease()
    desk.client.hset(desk.keys.task(handle.id), "of", policy)
    plant(desk, Tree("group", "own", ["a"]))
    key = desk.keys.task(handle.id)
    desk.client.hset(desk.keys.task("own"), mapping={"pi": handle.id, "pu": desk.client.hget(key, "u")})
    desk.client.sadd(f"{key}#open", "own")
    first, second = said("cancel", "own")
    assert "1 open part is cancelled" in first
    goes_on = "the iterator continues, and fails when its tasks have ended"
    ends = "the iterator fails at once, and its open tasks are cancelled"
    assert (goes_on if policy == "continue" else ends) in second
    control.cancel(["own"])
    assert desk.client.hget(key, "nf" if policy == "continue" else "fb")
    assert f"The task is part of {Count.name} (iterator {handle.id}, on_failure=" in second
    assert lease.id == handle.id


def test_the_terminal_says_it_and_asks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(desk, group_of("g", "a", "b"))
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or "n")
    assert failing("cancel", "a") == (1, "Nothing was done.")
    assert 'The task is part of the group g (on_failure="fail") and counts as failed there' in asked[0]
    assert asked[0].endswith("Cancel 1 task? [y/N] ")
    assert desk.states("g", "a") == ["idle", "pending"]
    queue("cancel", "a", "--yes")
    assert desk.states("g", "a", "b") == ["failed", "cancelled", "cancelled"]


@pytest.mark.parametrize("has_parts", [False, True])
def test_of_many_tasks_the_terminal_names_parents_only_if_some_have_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, has_parts: bool
) -> None:
    ids = [f"t{number}" for number in range(21)]
    plant(desk, group_of("g", *ids)) if has_parts else desk.push(*ids)
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or "n")
    for chosen in (ids, ["--state", "pending"]):
        assert failing("cancel", *chosen) == (1, "Nothing was done.")
        assert ("A part of a chain, a group or an iterator then counts as failed" in asked[-1]) is has_parts


def test_a_task_that_stands_alone_is_cancelled_without_a_question(desk: Desk) -> None:
    desk.push("alone")
    assert "1 of 1 done" in queue("cancel", "alone")


def test_the_terminal_runs_everything_again(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease())
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    queue("retry", "c")
    assert desk.states("c", "a", "b") == ["idle", "succeeded", "pending"]
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    queue("retry", "c", "--everything")
    assert desk.states("c", "a", "b") == ["idle", "pending", "waiting"]


def test_a_chain_has_no_attempts_no_lane_and_no_priority(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    text = queue("show", "c")
    assert "attempts" not in text
    assert "0 of 2 have ended" in text
    assert "when a part fails" in text
    assert desk.control("priority", "c", value=5)[0].word == "REFUSED"
    found = inspect.task("c")
    assert found is not None
    assert found.allowed == ("cancel",)


@pytest.mark.usefixtures("namespace")
def test_a_task_of_an_iterator_that_is_retried_alone_changes_nothing_above_and_that_is_said() -> None:
    desk, handle = Desk(get_broker()), Count.push(4)
    key = desk.keys.task(handle.id)
    desk.push("own")
    desk.client.hset(desk.keys.task("own"), mapping={"pi": handle.id, "pu": desk.client.hget(key, "u")})
    iterator, own = sorted(desk.claim(2), key=lambda lease: lease.id == "own")
    desk.settle(own)
    again, sentence = said("retry", "own")
    assert again == "The task has already succeeded once: it repeats its effects."
    assert sentence.startswith("Only this task runs again. Its parent ")
    assert sentence.endswith(f"(iterator {handle.id}, locked) has already counted its outcome, and does not change.")
    assert iterator.id == handle.id


@pytest.mark.usefixtures("namespace")
def test_a_task_of_an_iterator_whose_cancel_is_taken_back_changes_nothing_above_and_that_is_said() -> None:
    desk, handle = Desk(get_broker()), Count.push(4)
    key = desk.keys.task(handle.id)
    desk.push("own", "alone")
    desk.client.hset(desk.keys.task("own"), mapping={"pi": handle.id, "pu": desk.client.hget(key, "u")})
    control.cancel(["own", "alone"])
    (sentence,) = said("reinstate", "own")
    assert sentence.startswith("Only this task runs again. Its parent ")
    assert sentence.endswith(f"(iterator {handle.id}, pending) has already counted its outcome, and does not change.")
    assert said("reinstate", "alone") == ()
    assert inspect.rule("reinstate", "cancelled", has_parts=True).startswith("A part that runs again alone")
    before = desk.client.hgetall(key)
    queue("reinstate", "own", "--yes")
    assert desk.state("own") == "pending"
    assert desk.client.hgetall(key) == before
    assert said("reinstate", "own") == ()


def test_a_task_that_has_succeeded_is_said_to_do_again_what_it_did(desk: Desk) -> None:
    desk.push("a", "b")
    desk.drain()
    assert said("retry", "a") == ("The task has already succeeded once: it repeats its effects.",)
    assert said("cancel", "a") == ()
    desk.push("c")
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    assert said("retry", "c") == ()
