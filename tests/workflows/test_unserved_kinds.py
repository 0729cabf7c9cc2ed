"""A worker of decision steps alone leaves the activities: an alarm and `why` of the run say so."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from queueops import inspect, wf, workflow
from queueops.management.commands.runworker import Command
from queueops.testing import run_worker
from tests.support.waiting import wait_until
from tests.worker.test_loop import Running
from tests.workflows.test_runs import add

pytestmark = pytest.mark.usefixtures("namespace")
NO_WORKER = "No live worker takes tasks of the kind activity: each was started with other --kinds."


@workflow(name="unserved.calls")
async def calls() -> int:
    """Calls an activity that its worker leaves."""
    return await wf.call(add, 1, 2)


@pytest.fixture
def of_steps() -> Iterator[Running]:
    """A worker that takes decision steps alone."""
    running = Running(kinds=("workflow",))
    yield running
    running.end()


def test_a_run_tells_that_no_worker_takes_its_activity(of_steps: Running) -> None:
    run = calls.start()
    wait_until(lambda: run.state == "idle")
    (found,) = [each.text for each in inspect.why(run.id) if "activity" in each.text]
    assert found == f"The run waits for the activity wf.add, which is pending. {NO_WORKER}"
    (alarm,) = [each for each in inspect.snapshot().alarms if "kind" in each.text]
    assert "No live worker of the pool default takes the kind activity: 1 task waits." in alarm.text
    program, command, *words = shlex.split(alarm.command)
    chosen = Command().create_parser(program, command).parse_args(words)
    assert (chosen.pools, chosen.kinds) == (["default"], ["activity"])
    run_worker()
    assert run.result(timeout=30) == 3
    assert [each for each in inspect.snapshot().alarms if "kind" in each.text] == []
