"""What the log of a worker says of decision steps, and what becomes of a run whose name no worker knows."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from queueops import control, wf, workflow
from queueops.errors.workflows import OutsideWorkflow, RefusedInWorkflow
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_runs import add

pytestmark = pytest.mark.usefixtures("memory")
logger = logging.getLogger("project")


@workflow(name="log.any")
async def any_end(how: str) -> str:
    """Ends as the test says."""
    await wf.signal("go")
    match how:
        case "failed":
            raise ValueError("no stock")
        case "continued":
            wf.continue_as_new("succeeded")
        case "blocked":
            import asyncio

            await asyncio.to_thread(str)
    return "fine"


@workflow(name="log.writes")
async def writes() -> None:
    """Logs and prints before and after an activity."""
    write("begins")
    await wf.call(add, 1, 1)
    write("goes on")
    await wf.call(add, 1, 1)
    write("ends")


def write(text: str) -> None:
    """Log and print."""
    logger.warning(text)
    print(f"printed: {text}")


@workflow(name="log.cleans_up")
async def cleans_up() -> None:
    """Has a `finally` with effects, in two coroutines and a generator."""

    async def numbers() -> AsyncIterator[int]:
        try:
            yield await wf.signal("number")
        finally:
            write("no more numbers")

    async def listen() -> None:
        try:
            async for _ in numbers():
                await wf.signal("never")
        finally:
            _try()
            write("has stopped to listen")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(listen())
            await wf.signal("go")
    finally:
        write("has ended")


told: list[str] = []


def _try() -> None:
    """Note what a `finally` gets from what has effects, if its run is forgotten."""
    try:
        wf.now()
    except OutsideWorkflow:
        for effect in (lambda: socket.create_connection(("127.0.0.1", 9)), lambda: add.push(1, 1)):
            with pytest.raises(RefusedInWorkflow) as refused:
                effect()
            told.append(str(refused.value).split(" cannot")[0])


@pytest.mark.parametrize(
    ("how", "said", "warning"),
    [
        ("succeeded", "made its last step, and has succeeded, after", ""),
        ("failed", "made its last step, and has failed, after", "failed: ValueError: no stock"),
        ("continued", "made its last step, and has continued as new, after", ""),
        ("blocked", "is blocked after", "is blocked: A thread or an executor cannot be used"),
    ],
)
def test_the_log_says_what_a_step_did(how: str, said: str, warning: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "queueops"):
        run = any_end.start(how)
        run_worker()
        run.signal("go")
        run_worker()
    lines = [record.getMessage() for record in caplog.records if run.id in record.getMessage()]
    ends = [line for line in lines if "after" in line]
    assert "made a step after" in ends[0]
    assert said in ends[1]
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == bool(warning)
    assert all(warning in line for line in warnings)


@workflow(name="log.notes")
async def notes(how: str) -> str:
    """Does what its log notes."""
    if how == "grows":
        for _ in range(3):
            await wf.call(add, 1, 1)
    if how == "leaves":
        asyncio.ensure_future(wf.signal("never"))  # noqa: RUF006
    if how == "forgets":
        asyncio.ensure_future(fails())  # noqa: RUF006
        await wf.call(add, 1, 1)
    return "fine"


async def fails() -> None:
    """An error that no code awaits."""
    raise ValueError("no stock")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("grows", "its history has 2 commands and signals; it is time for wf.continue_as_new()"),
        ("leaves", "it ended before 1 tasks of its code, which are dropped"),
        ("forgets", "WorkflowTask exception was never retrieved: ValueError('no stock')"),
    ],
)
def test_what_a_run_notes_is_a_warning_of_the_worker(
    how: str, said: str, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"MAX_HISTORY": 4}}
    run = notes.start(how)
    run_worker()
    gc.collect()  # an exception of a task is told when the task is forgotten
    assert run.result(timeout=0) == "fine"
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [f"log.notes {run.id}: {said}"]


@pytest.mark.parametrize("memory", ["kept"], indirect=True)  # else no code is left between two steps
def test_an_error_that_is_told_between_two_steps_is_noted_by_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    """Python tells it when it forgets the task, which may be at any time."""
    run = any_end.start("succeeded")
    run_worker()
    ((_, execution),) = kept_runs._kept.values()
    execution.loop.call_exception_handler({"message": "Nothing has awaited", "exception": ValueError("no stock")})
    run.signal("go")
    run_worker()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [f"log.any {run.id}: Nothing has awaited: ValueError('no stock')"]


def unknown(run: Any) -> None:
    """A worker does not know the name of a run."""
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    settlement = Settlement(lease.id, lease.fence, Outcome.UNKNOWN, b"no code for it", 5_000)
    assert get_broker().exchange("default", "w1", RoundTrip(settle=[settlement])).settled == ["OK"]


def test_a_run_of_an_unknown_name_is_blocked_and_never_quarantined() -> None:
    run = any_end.start("succeeded")
    for times in range(1, 4):
        unknown(run)
        row = get_role(WorkflowCalls).run_row("default", run.id)
        assert row is not None
        assert (row.fields["s"], row.fields["y"], row.fields["vc"]) == ("postponed", "no code for it", str(times))
        assert control.run_now([run.id])[0].word == "OK"
    get_broker().client.hset(get_role(WorkflowCalls).keys("default").task(run.id), "uk", 1)  # long ago
    unknown(run)
    assert run.state == State.POSTPONED
    assert get_broker().client.zscore(f"{get_role(WorkflowCalls).keys('default').prefix}:blocked", run.id)
    run.run_now()
    run_worker()
    assert run.state == State.IDLE
    assert get_broker().client.zscore(f"{get_role(WorkflowCalls).keys('default').prefix}:blocked", run.id) is None


def written(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the code has logged, which is what it has printed."""
    lines = [record.getMessage() for record in caplog.records if record.name == "project"]
    assert re.findall("printed: (.*)", capsys.readouterr().out) == lines
    return lines


def test_a_replay_does_not_write_the_lines_of_the_code_again(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    writes.start()
    run_worker()
    WorkflowEnvironment().run(writes)
    assert written(caplog, capsys) == ["begins", "goes on", "ends"] * 2


def test_a_run_that_is_forgotten_while_it_waits_writes_nothing_and_has_no_effects(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    told.clear()
    run = cleans_up.start()
    run_worker()
    for event in ("number", "other"):
        run.signal(event, 7)
        run_worker()
    kept_runs.clear()
    assert written(caplog, capsys) == []
    assert set(told) == {"A socket or a pipe", "The store (a push, a handle, a control)"}
    run.cancel("enough")
    run_worker()
    assert written(caplog, capsys) == ["no more numbers", "has stopped to listen", "has ended"]
