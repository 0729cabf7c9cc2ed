"""Why a run waits: an activity or a child whose time has not come says so in one sentence."""

from __future__ import annotations

import pytest

from queueops import activity, inspect, wf, workflow
from queueops.testing import run_worker
from tests.workflows.test_runs import add, approval

pytestmark = pytest.mark.usefixtures("memory")


@activity(name="why.fails", retries=5)
def fails() -> None:
    """Fails."""
    raise ConnectionError("down")


@workflow(name="why.calls")
async def calls(what: str) -> None:
    """Waits for an activity or a child."""
    match what:
        case "retried":
            await wf.call(fails)
        case "delayed":
            await wf.call(add.using(delay=3600), 1, 1)
        case _:
            await wf.child(approval.using(delay=3600), 60)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("retried", "activity why.fails, which is to be retried. The task waits for its next attempt: attempt 1 of 6"),
        ("delayed", "activity wf.add, which is postponed. The task is postponed: due in "),
        ("child", "child workflow wf.approval, which is postponed. The task is postponed: due in "),
    ],
)
def test_what_a_run_waits_for_tells_when_it_goes_on(what: str, said: str) -> None:
    run = calls.start(what)
    run_worker()
    (found,) = [finding.text for finding in inspect.why(run.id) if not finding.ok]
    assert found.startswith(f"The run waits for the {said}")
