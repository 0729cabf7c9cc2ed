"""The story of a run on its page: what failed is told by its error, and not as it is stored."""

from __future__ import annotations

import asyncio
import html
import re

from django.test import Client

from queueops import activity, current, wf, workflow
from queueops.testing import run_worker


@activity(name="story.refuses", retries=0)
def refuses() -> None:
    """Fails."""
    raise PermissionError("the <card> was declined")


@workflow(name="story.pays")
async def pays() -> None:
    """Calls what fails."""
    await wf.call(refuses)


@workflow(name="story.breaks")
async def breaks() -> None:
    """Fails by its own code."""
    raise LookupError("no <order> 7")


@workflow(name="story.listens")
async def listens() -> None:
    """Has a background task that fails."""
    task = asyncio.create_task(breaks.handler.func())
    await wf.signal("go")
    await task


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


def test_the_run_shows_the_error_of_its_own_code(namespace: str, operator: Client) -> None:
    run = breaks.start()
    run_worker()
    shown = html.unescape(operator.get(f"/ops/tasks/{run.id}/run/").content.decode())
    assert "LookupError" in shown
    assert 'raise LookupError("no <order> 7")' in shown


def test_the_run_shows_a_failed_task_of_its_code_that_no_code_awaits(namespace: str, operator: Client) -> None:
    run = listens.start()
    run_worker()
    shown = html.unescape(operator.get(f"/ops/tasks/{run.id}/run/").content.decode())
    assert "Failed, and not awaited" in shown
    assert "breaks: LookupError: no <order> 7, at " in shown


def test_a_viewer_sees_the_type_of_the_error_alone(namespace: str, viewer: Client) -> None:
    for code, type, message in (
        (pays, "PermissionError", "the <card> was declined"),
        (breaks, "LookupError", "no <order> 7"),
    ):
        run = code.start()
        run_worker()
        shown = html.unescape(viewer.get(f"/ops/tasks/{run.id}/run/").content.decode())
        assert type in shown
        assert message not in shown


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


@workflow(name="story.stuck")
async def stuck() -> None:
    """Waits for what nothing ends, so that its step cannot be made."""
    await asyncio.get_running_loop().create_future()


def test_the_list_shows_blocked_runs_alone_with_their_number(namespace: str, operator: Client) -> None:
    blocked = stuck.using(id="order/1").start()
    later = waits.using(id="order/2", delay=60).start()
    run_worker()
    shown = html.unescape(operator.get("/ops/workflows/?state=blocked").content.decode())
    (chip,) = re.findall(r'<a class="chip[^"]*" href="/ops/workflows/\?state=blocked"[^>]*>.*?</a>', shown)
    assert 'aria-current="true"' in chip
    assert "<b>1</b>" in chip
    assert f"/ops/tasks/{blocked.id}/run/" in shown
    assert f"/ops/tasks/{later.id}/run/" not in shown
    live = html.unescape(operator.get("/ops/workflows/_rows?state=blocked").content.decode())
    assert f"/ops/tasks/{blocked.id}/run/" in live
    blocked.terminate("given up")
    live = html.unescape(operator.get("/ops/workflows/_rows?state=blocked").content.decode())
    assert "No run matches the filter." in live
    assert "<b>0</b>" in re.findall(r'state=blocked"[^>]*>.*?</a>', live)[0]


def test_the_alarm_of_more_blocked_runs_leads_to_their_list(namespace: str, operator: Client) -> None:
    for _ in range(4):
        stuck.start()
        run_worker()
    shown = html.unescape(operator.get("/ops/").content.decode())
    assert "1 more run is blocked." in shown
    assert 'href="/ops/workflows/?state=blocked"' in shown
    assert "manage.py queue runs --state blocked" in shown


@activity(name="story.counts")
def counts() -> None:
    """Tells how far it is, and waits for its next attempt."""
    current().progress(3, 10)
    raise OSError("the scale is off")


@workflow(name="story.counting")
async def counting() -> None:
    """Calls what tells how far it is."""
    await wf.call(counts.using(retries=3))


def test_the_progress_of_an_activity_is_shown_in_whole_numbers(namespace: str, operator: Client) -> None:
    run = counting.start()
    run_worker()
    assert "progress 3 / 10<" in operator.get(f"/ops/tasks/{run.id}/run/").content.decode()


def test_the_chips_have_the_words_of_the_rows(namespace: str, operator: Client) -> None:
    shown = operator.get("/ops/workflows/").content.decode()
    chips = re.findall(r'\?state=(\w+)"[^>]*><svg.*?</svg>(\w+)', shown)
    assert len(chips) == 10
    assert [{"locked": "running"}.get(word, word) for word, _ in chips] == [label for _, label in chips]
