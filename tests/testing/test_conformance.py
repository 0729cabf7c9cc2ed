"""Conformance: each test runs on the real broker with a worker, and on the eager one, and asserts the same."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import (
    Batch,
    IdInUse,
    Retry,
    TaskCancelled,
    TaskFailed,
    TaskGone,
    TaskSuperseded,
    chain,
    current,
    get,
    group,
    task,
)
from queueops import Iterator as Emitter
from queueops.errors import NotEncodable
from queueops.model.contracts import Push
from queueops.model.ids import new_id
from queueops.model.states import State, table
from queueops.redis import broker as brokers
from queueops.results.handle import TaskHandle
from tests.support import tasks_for_tests as tasks

POLICIES = ("ignore", "reject", "replace", "replace_postponed", "run_after")
SAME = (
    "id", "pool", "lane", "kind", "name", "state", "priority", "attempt", "retries", "crashes", "progress", "reason",
    "error", "error_type", "tags", "args", "kwargs", "meta", "chunks",
)  # fmt: skip
"""The fields of a status that do not depend on who ran the task, and when."""


@task(retries=1, retry=Retry(delay=0))
def divide(a: int, b: int) -> float:
    """Fails for 0."""
    return a / b


@task(retries=0)
def mend(values: list[int]) -> int:
    """Fails until the test has put a value into its list."""
    return REPAIRED[values[0]]


REPAIRED: dict[int, int] = {}
ANSWERS: list[str] = []
HANDLES: list[TaskHandle[Any]] = []
"""What the pushes of a running task were answered."""


@task(retries=0)
def push_itself(policy: str, again: bool = False) -> str:
    """Push its own id while it runs."""
    if again:
        return "again"
    try:
        handle = push_itself.using(id=current().id, on_conflict=policy).push(policy, again=True)
        ANSWERS.append(handle.word)
        HANDLES.append(handle)
    except IdInUse:
        ANSWERS.append("refused")
    return "once"


@task(retries=0)
def push_chain(policy: str) -> str:
    """Push a chain with the id of the one that this task is a part of."""
    try:
        ANSWERS.append(chain(tasks.add.s(1)).using(id=current().root, on_conflict=policy).push().word)
    except IdInUse:
        ANSWERS.append("refused")
    return "once"


@task()
def tell(words: list[str]) -> str:
    """Join words, and say how far it is."""
    for number, _ in enumerate(words):
        current().progress(number + 1, len(words))
    return " ".join(words)


class Numbers(Emitter):
    """Emits three tasks in two batches."""

    def iterate(self, state):
        """Two tasks, then one, then the end."""
        if state is None:
            return Batch(1, [tasks.add.s(1, 2), tasks.add.s(3, 4)])
        return Batch(2, [tasks.add.s(5, 6)]) if state == 1 else None


def facts(handle: TaskHandle[Any]) -> dict[str, Any]:
    """A task's status, without what depends on who ran it."""
    status = handle.status()
    assert status is not None
    return {name: getattr(status, name) for name in SAME}


def test_a_pushed_task_has_its_result_and_its_status(run):
    handle = tasks.add.using(tags=("a", "b"), priority=5, meta={"who": "me"}).push(1, b=2)
    run()
    assert (handle.word, handle.result(5), handle.state) == ("OK", 3, State.SUCCEEDED)
    assert get(handle.id) == handle
    assert facts(handle) == {
        "id": handle.id, "pool": "default", "lane": "default", "kind": "task", "name": tasks.add.name,
        "state": State.SUCCEEDED, "priority": 5, "attempt": 0, "retries": 2, "crashes": 0,
        "progress": None, "reason": "", "error": "", "error_type": "", "tags": ("a", "b"), "args": [1],
        "kwargs": {"b": 2}, "meta": {"who": "me"}, "chunks": None,
    }  # fmt: skip


def test_many_pushed_tasks_have_their_results_in_order(run):
    handles = tasks.add.push_many([(1, 2), ((3,), {"b": 4}), (5,)])
    run()
    assert [handle.result(5) for handle in handles] == [3, 7, 6]
    assert [handle.word for handle in handles] == ["OK", "OK", "OK"]
    assert len({handle.uid for handle in handles}) == 3


def test_batches_in_a_pipeline_are_answered_in_order(run):
    pushes = [Push(id=new_id(), name=tasks.add.name, args=b"[[1,2],{}]") for _ in range(3)]
    pipeline = brokers.get_broker().pushes("default")
    pipeline.send(pushes[:2])
    pipeline.send(pushes[2:])
    answers = [pipeline.receive(), pipeline.receive()]
    pipeline.close()
    run()
    assert [[(each.id, each.word) for each in answer] for answer in answers] == [
        [(pushes[0].id, "OK"), (pushes[1].id, "OK")],
        [(pushes[2].id, "OK")],
    ]
    assert [TaskHandle(push.id).result(5) for push in pushes] == [3, 3, 3]


def test_progress_is_that_of_the_last_report(run):
    handle = tell.push(["a", "b", "c"])
    run()
    assert (handle.result(5), handle.progress.as_dict()) == ("a b c", {"done": 3.0, "total": 3.0, "share": 1.0})


def test_a_failed_task_says_how_often_and_why(run):
    handle = divide.push(1, 0)
    run()
    with pytest.raises(TaskFailed, match="ZeroDivisionError: division by zero"):
        handle.result(5)
    found = facts(handle)
    assert (found["state"], found["attempt"], found["retries"]) == (State.FAILED, 2, 1)
    assert (found["error_type"], found["error"]) == ("ZeroDivisionError", "division by zero")
    assert len(brokers.get_broker().log("default", handle.id)) == 2


def test_a_retry_of_a_failed_task_begins_a_new_count(run):
    number = len(REPAIRED)
    handle = mend.push([number])
    run()
    assert handle.state == State.FAILED
    REPAIRED[number] = 7
    assert handle.retry()
    run()
    assert (handle.result(5), facts(handle)["attempt"], facts(handle)["error"]) == (7, 0, "")


def test_a_task_that_cancels_itself_is_cancelled_with_its_reason(run):
    handle = tasks.give_up.push("no more")
    run()
    with pytest.raises(TaskCancelled, match="no more"):
        handle.result(5)
    assert (facts(handle)["state"], facts(handle)["reason"]) == (State.CANCELLED, "no more")


def test_a_task_that_restarts_itself_counts_the_attempt(run):
    handle = tasks.come_again.push()
    run()
    assert (handle.result(5), handle.state) == (2, State.SUCCEEDED)


@pytest.mark.parametrize("verb", ["cancel", "run_now", "postpone"])
def test_an_ended_task_refuses_actions_for_tasks_that_have_not_ended(run, verb):
    handle = tasks.add.push(1, 2)
    run()
    arguments = (60,) if verb == "postpone" else ()
    assert getattr(handle, verb)(*arguments) is False
    assert handle.state == State.SUCCEEDED


def test_a_succeeded_task_may_be_run_again(run):
    handle = tasks.add.push(1, 2)
    run()
    assert handle.retry() == ("retry" in table().actions[State.SUCCEEDED])
    run()
    assert handle.result(5) == 3


@pytest.mark.parametrize("policy", POLICIES)
def test_an_id_of_an_ended_task_may_be_pushed_again(run, policy):
    first = tasks.add.using(id="again").push(1, 2)
    run()
    second = tasks.add.using(id="again", on_conflict=policy).push(3, 4)
    run()
    assert (second.word, second.result(5)) == ("OK", 7)
    assert second.uid != first.uid
    with pytest.raises(TaskSuperseded):
        first.result(5)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_decides_about_an_id_of_a_running_task(run, policy):
    handle = push_itself.using(id="mine").push(policy)
    run()
    assert handle.word == "OK"
    assert ANSWERS.pop() == {"reject": "refused", "run_after": "AFTER", "replace": "REPLACED"}.get(policy, "EXISTS")
    runs_twice = policy in ("run_after", "replace")
    assert TaskHandle("mine").result(5) == ("again" if runs_twice else "once")
    if policy != "reject":
        assert HANDLES.pop().result(5) == ("again" if runs_twice else "once")
    if runs_twice:
        with pytest.raises(TaskSuperseded):
            handle.result(5)
    else:
        assert handle.result(5) == "once"


@pytest.mark.parametrize(("policy", "word"), [("ignore", "EXISTS"), ("reject", "refused")])
def test_the_policy_decides_about_an_id_of_a_running_composite(run, policy, word):
    handle = chain(push_chain.s(policy)).using(id="chained").push()
    run()
    assert (ANSWERS.pop(), handle.result(5)) == (word, "once")


def test_a_part_of_a_composite_is_not_replaced(run):
    part = push_itself.using(id="part").s("replace")
    handle = chain(part).push()
    run()
    assert (ANSWERS.pop(), HANDLES.pop().word, handle.result(5)) == ("EXISTS", "EXISTS", "once")


def test_an_id_without_a_task_is_answered_as_gone(run):
    handle, broker = TaskHandle[int]("nothing"), brokers.get_broker()
    assert (handle.status(), handle.state, handle.progress) == (None, None, None)
    assert (handle.cancel(), handle.retry(), handle.run_now(), handle.postpone(1)) == (False,) * 4
    assert get("nothing") is None
    assert broker.find("nothing") is None
    assert broker.record("default", "nothing") is None
    assert broker.wait("default", "nothing") == ""
    assert broker.parts("default", "nothing") == []
    assert broker.log("default", "nothing") == []
    assert [row.word for row in broker.control("default", "cancel", ["nothing"])] == ["GONE"]
    with pytest.raises(TaskGone):
        handle.result(5)


def test_a_wait_is_answered_with_the_state_of_that_generation(run):
    handle = tasks.add.push(1, 2)
    run()
    broker = brokers.get_broker()
    assert broker.wait("default", handle.id) == State.SUCCEEDED
    assert broker.wait("default", handle.id, handle.uid) == State.SUCCEEDED
    assert broker.wait("default", handle.id, handle.uid + 1) == "superseded"


def test_a_record_has_what_was_pushed_and_what_was_returned(run):
    handle = tasks.add.using(pool="default", tags=("x",)).push(1, 2)
    run()
    pool, record = brokers.get_broker().find(handle.id)
    assert (pool, record.id, record.pool, record.kind, record.name) == (
        "default", handle.id, "default", "task", tasks.add.name,
    )  # fmt: skip
    assert (record.state, record.result, record.args, record.is_over) == ("succeeded", b"3", b"[[1,2],{}]", True)


def test_a_refused_argument_leaves_no_task(run):
    with pytest.raises(NotEncodable):
        tasks.add.using(id="refused").push(object())
    assert get("refused") is None


def test_a_child_descends_from_the_task_that_pushed_it(run):
    handle = tasks.parent.push(1)
    run()
    child = get(handle.result(5))
    assert (child.result(5), child.status().root) == (2, handle.id)


def test_a_chain_gives_each_part_the_result_of_the_one_before(run):
    handle = chain(tasks.add.s(1, 2), tasks.add.s(10), tasks.add.si(5, 5)).push()
    run()
    assert (handle.result(5), handle.state) == (10, State.SUCCEEDED)
    parts = brokers.get_broker().parts("default", handle.id)
    assert [(part.order, part.pool, part.kind, part.name) for part in parts] == [
        (number, "default", "task", tasks.add.name) for number in range(3)
    ]
    assert brokers.get_broker().parts("default", handle.id, last=True) == parts[-1:]
    assert [TaskHandle(part.id).result(5) for part in parts] == [3, 13, 10]


def test_a_group_gives_the_results_in_the_order_of_its_parts(run):
    handle = group(tasks.add.s(1, 2), chain(tasks.add.s(1, 1), tasks.add.s(1)), group()).push()
    run()
    assert handle.result(5) == [3, 3, []]


@pytest.mark.parametrize("policy", ["fail", "continue", "outcomes"])
def test_the_policy_decides_about_a_group_with_a_failed_part(run, policy):
    handle = group(divide.s(1, 0), tasks.add.s(1, 2), on_failure=policy).push()
    run()
    if policy == "outcomes":
        found = handle.result(5)
        assert [each["state"] for each in found] == ["failed", "succeeded"]
        assert found[1]["result"] == 3
    else:
        with pytest.raises(TaskFailed):
            handle.result(5)
    parts = brokers.get_broker().parts("default", handle.id)
    if policy != "fail":
        assert [TaskHandle(part.id).state for part in parts] == [State.FAILED, State.SUCCEEDED]


def test_the_part_after_a_failed_one_does_not_run(run):
    handle = chain(tasks.add.s(1, 1), divide.s(0), tasks.add.s(1)).push()
    run()
    with pytest.raises(TaskFailed):
        handle.result(5)
    parts = brokers.get_broker().parts("default", handle.id)
    assert [TaskHandle(part.id).state for part in parts] == [State.SUCCEEDED, State.FAILED, State.CANCELLED]


def test_an_iterator_runs_what_it_emits(run):
    handle = Numbers.push()
    run()
    assert handle.state == State.SUCCEEDED
    assert handle.progress.done == 3


def test_a_template_has_the_result_of_its_chain(run):
    handle = tasks.Sum.push(1, 2, 3)
    run()
    assert handle.result(5) == 6


def test_a_map_reduce_task_has_its_result_and_counts_its_chunks(run):
    handle = tasks.Letters.push("one", "three", "fifteen")
    run()
    assert handle.result(5) == 15
    assert handle.status().chunks == {"pending": 0, "active": 0, "errored": 0, "done": 3, "failed": 0}
    broker = brokers.get_broker()
    assert broker.chunk_numbers("default", handle.id, "done") == [0, 1, 2]
    assert broker.chunk_numbers("default", handle.id, "done", 1, 1) == [1]
    assert list(broker.chunk_results("default", handle.id, 3)) == [b"3", b"5", b"7"]
    assert [each for page in broker.chunk_result_pages("default", handle.id, 3) for each in page] == [b"3", b"5", b"7"]
