"""Background tasks of the code that fail: the log, the answer to "why" and the terminal tell it at once."""

from __future__ import annotations

import asyncio
import io
import logging
from typing import Any

import pytest
from django.core.management import call_command

from queueops import inspect, wf, workflow
from queueops.testing import run_worker
from tests.workflows.test_runs import add

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memory")]
NOTE = "WorkflowTask exception was never retrieved: ValueError('no card <7>')"


async def listen() -> None:
    """Reads signals until one is wrong."""
    async for value in wf.signals("card"):
        if value == 7:
            raise ValueError("no card <7>")


@workflow(name="died.listens")
async def listens() -> str:
    """Listens beside its work. A signal says how it goes on."""
    listener = asyncio.create_task(listen(), name="listener")
    match await wf.signal("go"):
        case "await":
            try:
                await listener
            except ValueError:
                await wf.signal("end")
        case "work":
            await wf.call(add, 1, 1)
            await wf.signal("end")
    return "fine"


@pytest.fixture
def run() -> Any:
    """A run whose listener has failed."""
    run = listens.start()
    run_worker()
    assert view(run).died == ()
    run.signal("card", 7)
    run_worker()
    return run


def view(run: Any) -> Any:
    return inspect.workflow_run(run.id)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    return [record.getMessage() for record in records if record.levelno == logging.WARNING]


def test_the_log_of_the_run_and_of_the_worker_tell_it_once(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert warnings(caplog) == [f"died.listens {run.id}: {NOTE}"]
    run.signal("go", "work")
    run_worker()
    run.signal("end")
    run_worker()
    assert run.result(timeout=0) == "fine"
    assert len(warnings(caplog)) == 1
    task = inspect.task(run.id)
    assert task is not None
    assert [line.text for line in task.log if line.kind == "log"] == [NOTE]


def test_the_terminal_and_why_tell_it_while_the_run_waits(run: Any) -> None:
    for _ in range(2):
        (text,) = view(run).died
        assert text.startswith("listen: ValueError: no card <7>, at ")
        assert text.endswith("in listen")
        assert any(finding.value == text for finding in inspect.why(run.id) if not finding.ok)
        out = io.StringIO()
        call_command("queue", "run", run.id, stdout=out)
        assert "ValueError: no card <7>" in out.getvalue()
        run.signal("go", "work")
        run_worker()


def test_an_error_that_the_code_awaits_later_is_told_no_more(run: Any) -> None:
    run.signal("go", "await")
    run_worker()
    assert view(run).signals == ("end",)
    assert view(run).died == ()


def test_an_ended_run_tells_no_failed_task_as_open(run: Any) -> None:
    run.signal("go", "end")
    run_worker()
    assert run.result(timeout=0) == "fine"
    assert view(run).died == ()
