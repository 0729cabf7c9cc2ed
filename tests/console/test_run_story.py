"""The story of a run on its page: what failed is told by its error, and not as it is stored."""

from __future__ import annotations

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
