"""Values of runs that JSON does not bring back: results, signals, side effects and metadata."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from queueops import task, wf, workflow
from queueops.errors import NotEncodable, TaskFailed
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.tasks.metadata import encode_meta
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_replay import execution, written

pytestmark = pytest.mark.usefixtures("own_handlers")
LOSSY = [({1: "x"}, "the key 1 of it is an int"), ({"a": b"x"}, "it['a'] is a bytes")]


@workflow(name="lossy.bare")
async def bare(value: Any) -> dict:
    """Returns what its bare annotation does not bring back."""
    return {int(value): "x"} if value else {"a": 1}


@workflow(name="lossy.exact")
async def exact() -> dict[int, bytes]:
    """Returns what its annotation brings back."""
    return {1: b"x"}


@workflow(name="lossy.parent")
async def parent() -> str:
    """Calls a child whose result is lossy."""
    return str(await wf.child(bare, 1))


@workflow(name="lossy.listens")
async def listens() -> Any:
    """Returns what a signal brings."""
    return await wf.signal("go")


@pytest.mark.usefixtures("namespace")
def test_a_result_of_a_run_that_its_annotation_does_not_bring_back_fails_the_run() -> None:
    handles = [bare.start(1), parent.start()]
    run_worker()
    for handle in handles:
        with pytest.raises(TaskFailed, match="the key 1 of it is an int"):
            handle.result(timeout=0)


@pytest.mark.usefixtures("namespace")
def test_a_result_of_a_run_that_fits_comes_back_as_it_was() -> None:
    one, other = bare.start(0), exact.start()
    run_worker()
    assert (one.result(timeout=0), other.result(timeout=0)) == ({"a": 1}, {1: b"x"})


def test_the_environment_refuses_such_results_of_runs_and_of_replacements() -> None:
    env = WorkflowEnvironment()
    with pytest.raises(TaskFailed, match="the key 1 of it is an int"):
        env.run(bare, 1)
    env.mock(bare, lambda value: {"a": b"x"})
    with pytest.raises(TaskFailed, match="a bytes"):
        env.run(parent)


@pytest.mark.parametrize(("value", "text"), LOSSY)
@pytest.mark.usefixtures("namespace")
def test_a_signal_with_such_a_value_is_refused_where_it_is_sent(value: Any, text: str) -> None:
    handle = listens.start()
    with pytest.raises(NotEncodable) as caught:
        handle.signal("go", value)
    assert text in str(caught.value)
    handle.signal("go", {"day": dt.date(2026, 1, 2), "both": (1, 2)})
    run_worker()
    assert handle.result(timeout=0) == {"day": "2026-01-02", "both": [1, 2]}


@pytest.mark.parametrize(("value", "text"), LOSSY)
def test_the_code_of_a_run_neither_sends_nor_records_such_a_value(value: Any, text: str) -> None:
    async def tells() -> None:
        await wf.send_signal("other", "go", value)

    async def records() -> None:
        wf.side_effect(lambda: value)

    for code in (tells, records):
        step = execution(code).advance(1000, ())
        assert step.state == "failed"
        assert text in str(step.error)


def test_a_run_that_sent_such_a_signal_earlier_goes_on() -> None:
    async def tells() -> None:
        await wf.send_signal("other", "go", {1: "x"})
        await wf.sleep(1)

    earlier = Entry("tell", command=1, instance="other", name="go", payload=events.raw(b'{"1":"x"}'))
    replayed = execution(tells)
    replayed.replay([events.encode(Entry(events.STEP, at_ms=1000)), events.encode(earlier)])
    step = replayed.advance(2000, [Entry("done", command=1)])
    assert [entry.kind for entry in step.commands] == ["timer"]


def test_a_history_with_such_a_result_replays_unchanged() -> None:
    async def code() -> dict:
        return {1: "x"}

    history = written(execution(code).advance(1000, ()))
    replayed = execution(code)
    replayed.code.encode_result = bare.handler.result_type.encode  # type: ignore[method-assign]
    replayed.replay(history)
    assert replayed.step.state == "succeeded"


@pytest.mark.parametrize(("value", "text"), [({"a": {1: 2}}, "the key 1 of meta['a']"), ({"a": b"x"}, "meta['a']")])
def test_metadata_with_such_a_value_is_refused_at_the_push(value: dict[str, Any], text: str) -> None:
    with pytest.raises(NotEncodable) as caught:
        encode_meta(value)
    assert text in str(caught.value)


def test_an_activity_in_the_environment_is_checked_as_its_task_is() -> None:
    @task(name="lossy.activity", retries=0)
    def load() -> dict: ...  # type: ignore[empty-body]

    @workflow(name="lossy.calls")
    async def calls() -> str:
        return str(await wf.call(load))

    env = WorkflowEnvironment()
    env.mock(load, lambda: {1: "x"})
    with pytest.raises(TaskFailed, match="the key 1 of it is an int"):
        env.run(calls)
