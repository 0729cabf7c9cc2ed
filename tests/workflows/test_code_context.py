"""The task context in the code of a workflow: it has the facts of the run, and refuses what acts on a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import current, wf, workflow
from queueops.errors.workflows import RefusedInWorkflow
from queueops.kinds.workflows.code_check.replay_check import replays
from queueops.redis.broker import get_broker
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_bad_input import reason_of
from tests.workflows.test_runs import add

pytestmark = pytest.mark.usefixtures("memory")

ACTS: dict[str, Callable[[], Any]] = {
    "log": lambda: current().log("line"),
    "progress": lambda: current().progress(1, 2),
    "progress_add": lambda: current().progress_add(1),
    "extend": lambda: current().extend(60),
    "set_deadline": lambda: current().set_deadline(60),
    "restart": lambda: current().restart(60),
    "cancel": lambda: current().cancel("enough"),
}


@workflow(name="context.facts")
async def facts() -> list[Any]:
    """The facts of its context, in two steps."""
    first = [current().id == wf.info().id, current().meta, current().cancelled]
    await wf.call(add, 1, 1)
    return [*first, current().id == wf.info().id]


@workflow(name="context.calls")
async def calls() -> None:
    """Calls an activity with its metadata, and waits."""
    await wf.call(add, current().meta["tenant"], 0)
    await wf.signal("go")


@workflow(name="context.acts")
async def acts(how: str) -> str:
    """Acts on its context, and catches what that raises."""
    await wf.call(add, 1, 1)
    try:
        ACTS[how]()
    except Exception as error:
        return str(error)
    return "done"


def test_the_code_sees_its_run_and_its_metadata() -> None:
    run = facts.using(meta={"tenant": 7}).start()
    run_worker()
    assert run.result(timeout=0) == [True, {"tenant": 7}, False, True]
    assert WorkflowEnvironment().run(facts.using(meta={"tenant": 7})) == [True, {"tenant": 7}, False, True]


def test_a_check_before_a_deploy_has_the_metadata_too() -> None:
    run = calls.using(meta={"tenant": 7}).start()
    run_worker()
    (found,) = replays([calls.name])
    assert (found.run, found.reason) == (run.id, "")


@pytest.mark.parametrize("how", ACTS)
def test_what_acts_on_a_task_is_refused_and_blocks_the_run(how: str) -> None:
    run = acts.start(how)
    run_worker()
    assert "cannot be used in the code of a workflow" in reason_of(run)
    assert [entry.kind for entry in run.history()] == ["step", "call"]
    assert get_broker().record("default", run.id).progress is None  # type: ignore[union-attr]
    with pytest.raises(RefusedInWorkflow, match=r"current\(\)"):
        WorkflowEnvironment().run(acts, how)
