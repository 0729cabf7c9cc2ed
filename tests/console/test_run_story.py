"""The story of a run on its page: what failed is told by its error, and not as it is stored."""

from __future__ import annotations

import asyncio
import html

from django.test import Client

from queueops import activity, wf, workflow
from queueops.testing import run_worker


@activity(name="story.refuses", retries=0)
def refuses() -> None:
    """Fails."""
    raise PermissionError("the <card> was declined")


@workflow(name="story.pays")
async def pays() -> None:
    """Calls what fails."""
    await wf.call(refuses)


@workflow(name="story.waits")
async def waits() -> str:
    """Waits for a signal, and cleans up if it is cancelled."""
    try:
        await wf.signal("go")
    except asyncio.CancelledError:
        return "cleaned up"
    return "went"


def test_a_failed_activity_shows_its_error_and_its_folded_traceback(namespace: str, operator: Client) -> None:
    run = pays.start()
    run_worker()
    shown = html.unescape(operator.get(f"/ops/tasks/{run.id}/run/").content.decode())
    _, _, story = shown.partition("It has failed.")
    told, _, traceback = story.partition("<summary>Traceback</summary>")
    assert "PermissionError: the <card> was declined<details" in told
    assert 'raise PermissionError("the <card> was declined")' in traceback
    assert '"fingerprint"' not in shown


def test_a_viewer_sees_the_type_of_the_error_alone(namespace: str, viewer: Client) -> None:
    run = pays.start()
    run_worker()
    shown = html.unescape(viewer.get(f"/ops/tasks/{run.id}/run/").content.decode())
    assert "PermissionError" in shown
    assert "the <card> was declined" not in shown


def test_the_head_of_a_run_asks_its_code_to_cancel_and_terminates_after_a_question(
    namespace: str, operator: Client
) -> None:
    run = waits.start()
    run_worker()
    for tab in ("", "run/"):
        shown = operator.get(f"/ops/tasks/{run.id}/{tab}").content.decode()
        assert shown.count(f'action="/ops/workflows/{run.id}/_cancel"') == 1
        assert shown.count(f'action="/ops/workflows/{run.id}/_terminate"') == 1
        assert f'action="/ops/tasks/{run.id}/_cancel"' not in shown
        assert f'action="/ops/tasks/{run.id}/_interrupt"' not in shown
    assert operator.post(f"/ops/workflows/{run.id}/_cancel", {"pool": "default"}).status_code == 302
    run_worker()
    assert run.result(timeout=0) == "cleaned up"


def test_the_page_of_a_run_that_is_not_in_a_step_can_terminate_it(namespace: str, operator: Client) -> None:
    run = waits.using(delay=60).start()
    shown = operator.get(f"/ops/tasks/{run.id}/run/").content.decode()
    assert shown.count(f'action="/ops/workflows/{run.id}/_cancel"') == 1
    assert shown.count(f'action="/ops/workflows/{run.id}/_terminate"') == 1
