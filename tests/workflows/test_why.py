"""Why a run waits: an activity or a child whose time has not come says so in one sentence."""

from __future__ import annotations

import asyncio

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


@workflow(name="why.many")
async def many(count: int) -> None:
    """Waits for some activities."""
    await asyncio.gather(*(wf.call(add.using(delay=3600), 1, 1) for _ in range(count)))


def test_five_open_activities_are_named_and_the_others_are_counted() -> None:
    runs = {count: many.start(count) for count in (5, 6, 7)}
    run_worker()
    for count, run in runs.items():
        told = [finding.text for finding in inspect.why(run.id) if "activity" in finding.text]
        assert len([text for text in told if "activity wf.add, which is postponed" in text]) == 5
        more = [f"The run waits for {count - 5} more of the kind activity."] if count > 5 else []
        assert told[5:] == more
