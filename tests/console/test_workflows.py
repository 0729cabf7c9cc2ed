"""The page of a run: its story, what it waits for, and the actions, with the real engine underneath."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops.errors.workflows import RunEnded
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.inspect import run_filter
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.workflows.test_runs import approval, parent, raises, sums

Handle = WorkflowHandle[str]


@pytest.fixture
def run(namespace: str) -> Handle:
    """A run that waits for a signal, with a time limit."""
    handle = approval.using(id="order/7").start(60.0)
    run_worker()
    return handle


def page(client: Client, run: Handle, query: str = "") -> str:
    """The tab of a run."""
    reply = client.get(f"/ops/tasks/{run.id}/run/{query}")
    assert reply.status_code == 200
    return html.unescape(reply.content.decode())


def act(client: Client, run: Handle, verb: str, **fields: str) -> int:
    """Press a button of the page."""
    return client.post(f"/ops/workflows/{run.id}/_{verb}", {"pool": "default", **fields}).status_code


def test_the_story_is_shown_with_what_the_run_waits_for(run: Handle, operator: Client) -> None:
    shown = page(operator, run)
    assert '<a href="/ops/workflows/" data-go="f" aria-current="page">' in shown
    assert "order/7" in shown
    assert "Waits for the signal</dt><dd><code>approve</code>" in shown
    assert re.search(r"test_runs\.py:\d+ in approval", shown)
    assert re.findall(r'<span class="q-tag">(\w+)</span>', shown) == ["step", "timer"]
    assert "timer" in shown[shown.index("Waits for") :]


def test_a_signal_is_sent_with_its_value_and_is_audited(run: Handle, operator: Client) -> None:
    assert act(operator, run, "signal", name="approve", value='"Ada"') == 302
    run_worker()
    assert run.result(timeout=0) == "Ada"
    assert "approve" in page(operator, run)
    entry = AuditEntry.objects.get(verb="signal_runs")
    assert (entry.outcome, entry.actor_name) == ("done", "operators")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "", "value": "7"}, "This field is required."),
        ({"name": "approve", "value": '{"by": Ada'}, 'Enter a value as JSON, such as true, 7 or "text".'),
        ({"name": "approve", "value": "[" * 9_000}, 'Enter a value as JSON, such as true, 7 or "text".'),
        ({"name": "approve", "value": "7" * 20_001}, "at most 20000 characters"),
    ],
)
def test_a_signal_without_a_name_or_with_a_broken_value_is_asked_for_again(
    run: Handle, operator: Client, fields: dict[str, str], said: str
) -> None:
    reply = operator.post(f"/ops/workflows/{run.id}/_signal", {"pool": "default", "next": "/ops/tasks/", **fields})
    asked = html.unescape(reply.content.decode())
    assert [text in asked for text in (said, fields["value"])] == [True, True]
    assert (run.state, AuditEntry.objects.exists()) == (State.IDLE, False)
    (number,) = re.findall(r'name="confirmed" value="([^"]+)"', asked)
    assert act(operator, run, "signal", confirmed=number, name="approve", value='"Ada"') == 302
    run_worker()
    assert run.result(timeout=0) == "Ada"


def test_no_page_of_a_run_offers_what_is_refused(run: Handle, operator: Client) -> None:
    run.terminate("no more")
    for path in (f"/ops/tasks/{run.id}/", "/ops/tasks/?kind=workflow&state=cancelled"):
        shown = html.unescape(operator.get(path).content.decode())
        assert "_retry" in shown
        assert "edit/" not in shown
        assert "_reinstate" not in shown
        assert "tasks-all-reinstate" not in shown


def test_a_suspended_run_says_so_and_can_be_resumed(run: Handle, operator: Client) -> None:
    act(operator, run, "suspend")
    assert act(operator, run, "signal", name="approve", value="1") == 302
    run_worker()
    shown = page(operator, run)
    assert "Suspended" in shown
    assert "Inbox" in shown
    why = html.unescape(operator.get(f"/ops/tasks/{run.id}/why/").content.decode())
    assert "The run is suspended." in why
    act(operator, run, "resume")
    run_worker()
    assert run.result(timeout=0) == "1"


def test_a_viewer_sees_no_values_and_no_buttons(run: Handle, viewer: Client) -> None:
    run.signal("approve", "secret-name")
    run_worker()
    shown = page(viewer, run)
    assert "signal" in shown
    assert "secret-name" not in shown
    assert "_signal" not in shown
    assert act(viewer, run, "signal", name="approve") == 403
    assert act(viewer, run, "cancel") == 403


def test_a_token_is_needed(run: Handle, client_of: object) -> None:
    strict = client_of("operators", enforce_csrf_checks=True)  # type: ignore[operator]
    assert act(strict, run, "cancel") == 403
    assert run.state == State.IDLE


def test_why_names_what_a_run_waits_for(run: Handle, operator: Client) -> None:
    why = html.unescape(operator.get(f"/ops/tasks/{run.id}/why/").content.decode())
    assert "The run waits for the signal approve." in why
    assert re.search(r"since 20\d\d-\d\d-\d\d", why)
    assert re.search(r"The timer fires in \d+ s\.", why)


def test_why_names_the_open_tasks_of_a_run(namespace: str, operator: Client) -> None:
    outer = parent.start("inner-1")
    run_worker()
    why = html.unescape(operator.get(f"/ops/tasks/{outer.id}/why/").content.decode())
    assert "The run waits for the child workflow wf.approval, which is idle." in why


def test_a_child_links_to_its_parent_and_back(namespace: str, operator: Client) -> None:
    outer = parent.start("inner-1")
    run_worker()
    child = approval.handle("inner-1")
    assert f"/ops/tasks/{child.id}/" in page(operator, outer)
    assert f"/ops/tasks/{outer.id}/" in page(operator, child)


def test_children_are_listed_with_their_states_and_the_parent_by_its_instance(namespace: str, operator: Client) -> None:
    outer = parent.using(id="outer/1").start("inner-1")
    run_worker()
    shown = page(operator, outer)
    section = shown[shown.index('id="children-title"') :]
    assert re.search(rf'<a href="/ops/tasks/{outer.id}\.1/run/[^"]*">inner-1</a>', section)
    assert "signal approve" in section
    above = page(operator, approval.handle("inner-1"))
    assert re.search(rf'<a href="/ops/tasks/{outer.id}/run/[^"]*"><code>outer/1</code></a>', above)


@pytest.mark.parametrize("query", ["?calls=1", f"?calls={2**64}.0", "?children=x", "?inbox=-1", "?first=1234567"])
def test_a_place_that_is_never_offered_is_refused(run: Handle, operator: Client, query: str) -> None:
    assert operator.get(f"/ops/tasks/{run.id}/run/{query}").status_code == 404


def test_each_list_of_a_run_goes_on_by_itself(run: Handle, operator: Client) -> None:
    act(operator, run, "suspend")
    for number in range(101):
        run.signal("other", number)
    shown = page(operator, run)
    (older,) = re.findall(r'rel="next" href="([^"]+)"', shown)
    assert "inbox=100" in older
    following = html.unescape(operator.get(older).content.decode())
    assert 'id="inbox-101"' in following
    assert 'id="inbox-100"' not in following
    assert 'id="history-1"' in following


def test_the_stack_of_the_code_is_shown(run: Handle, operator: Client) -> None:
    shown = page(operator, run)
    section = shown[shown.index('id="stacks-title"') :]
    assert re.search(r"<li><code>/[^<]*test_runs\.py:\d+ in approval</code></li>", section)


def test_an_ended_run_offers_no_action(namespace: str, operator: Client) -> None:
    failed = raises.start()
    run_worker()
    assert "_signal" not in page(operator, failed)
    assert act(operator, failed, "cancel") == 302
    assert AuditEntry.objects.get(verb="cancel_runs").outcome == "refused"


def test_runs_are_listed_with_what_they_wait_for(run: Handle, operator: Client) -> None:
    shown = html.unescape(operator.get("/ops/workflows/").content.decode())
    assert "order/7" in shown
    assert "signal approve" in shown
    assert f"/ops/tasks/{run.id}/run/" in shown
    assert "No run matches" in operator.get("/ops/workflows/?state=failed").content.decode()
    found = operator.get("/ops/workflows/?search=order/7&name=wf.approval").content.decode()
    assert run.id in found
    assert operator.get("/ops/workflows/?state=none").status_code == 400


def test_runs_are_filtered_by_status_tag_instance_and_age(run: Handle, operator: Client, viewer: Client) -> None:
    tagged = approval.using(id="order/8", tags=["rare"]).start(60.0)
    run_worker()
    get_broker().ask_one(
        "default", lambda client: client.hset(get_broker().keys("default").task(run.id), "vq", '"packed"')
    )

    def found(client: Client, query: str) -> set[str]:
        shown = html.unescape(client.get(f"/ops/workflows/?{query}").content.decode())
        return {each for each in (run.id, tagged.id) if f"/ops/tasks/{each}/run/" in shown}

    assert found(operator, "status=PACK") == {run.id}
    assert found(operator, "tag=rare&younger=1h") == {tagged.id}
    assert found(operator, "search=order/*") == {run.id, tagged.id}
    assert found(operator, "instance=order/7&older=") == {run.id}
    assert found(operator, "older=1h") == set()
    assert found(viewer, "tag=rare") == {tagged.id}
    for client, query in ((operator, "older=soon"), (viewer, "status=pack")):
        reply = client.get(f"/ops/workflows/?{query}")
        assert reply.status_code == 400
        assert 'role="alert"' in reply.content.decode()
    assert 'name="status"' not in viewer.get("/ops/workflows/").content.decode()
    chips = operator.get("/ops/workflows/?tag=rare&younger=1h&state=idle").content.decode().split("chosen-chips")[1]
    assert re.findall(r'href="([^"]+)"[^>]*aria-label="Filter ([^"]+): remove"', chips.split("</p>")[0]) == [
        ("/ops/workflows/?state=idle&amp;younger=1h", "tag: rare"),
        ("/ops/workflows/?state=idle&amp;tag=rare", "younger: 1h"),
    ]


def test_a_search_that_has_found_nothing_yet_goes_on(
    namespace: str, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_filter, "BUDGET", 1)
    for number in range(6):
        approval.using(id=f"order/{number}").start(60.0)
    first = html.unescape(operator.get("/ops/workflows/?instance=order/0*").content.decode())
    assert "No run was found so far." in first
    assert "0 found in the first 1 of 6. The search goes on." in " ".join(first.split())
    older = re.findall(r'rel="next" href="([^"]+)"', first)[0]
    assert "order/0" in operator.get(older).content.decode()
    search = re.compile(r'hx-get="(/ops/workflows/_search[^"]+)"')
    step = operator.get(search.findall(first)[0])
    assert "0 found in the first 2 of 6." in " ".join(html.unescape(step.content.decode()).split())
    for _ in range(4):
        step = operator.get(html.unescape(search.findall(step.content.decode())[0])) if step.content else step
    assert step.status_code == 204
    match = operator.get(step["HX-Redirect"]).content.decode()
    assert "order/0" in match
    assert "1 found in the first 6 of 6." in match


def test_a_search_that_finds_nothing_goes_on_to_its_end(
    namespace: str, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_filter, "BUDGET", 1)
    for number in range(12):
        approval.using(id=f"order/{number}").start(60.0)
    said, address = [], "/ops/workflows/?instance=return/*"
    while address:
        shown = html.unescape(operator.get(address).content.decode())
        said.append(" ".join(re.sub(r"<[^>]+>", " ", shown[shown.index('id="search"') :]).split()))
        address = next(iter(re.findall(r'hx-get="(/ops/workflows/_search[^"]+)"', shown)), "")
    *steps, last = (re.findall(r"0 found([^.]*)\.", each)[0] for each in said)
    assert steps == [f" in the first {number} of 12" for number in range(1, 13)]
    assert last == ""
    assert "All 12 were searched." in said[-1]


def test_a_search_says_that_there_are_more_runs_behind_a_page(
    namespace: str, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        approval.using(id=("match/" if number in (0, 11) else "order/") + str(number)).start(60.0)
    monkeypatch.setattr(run_filter, "BUDGET", 1)
    shown = html.unescape(operator.get("/ops/workflows/?instance=match/*").content.decode())
    assert "match/11" in shown
    while "There are more." not in shown:
        step = re.findall(r'hx-get="(/ops/workflows/_search[^"]+)"', shown)[0]
        shown = html.unescape(operator.get(step).content.decode())
    found = re.findall(r'rel="next" href="([^"]+)"', shown)[0]
    assert "match/0" in operator.get(found).content.decode()
    assert operator.get("/ops/workflows/_search?older=soon").status_code == 400


def test_a_list_shows_statuses_as_text_and_errors(namespace: str, operator: Client, viewer: Client) -> None:
    failed = raises.start()
    run_worker()
    key = get_broker().keys("default").task(failed.id)
    get_broker().ask_one("default", lambda client: client.hset(key, "vq", b'"says \\"no\\""'))
    shown = html.unescape(operator.get("/ops/workflows/").content.decode())
    assert 'data-label="Status">says "no"</td>' in shown
    assert '<span class="bad">ValueError: no such order</span>' in shown
    assert "no such order" not in viewer.get("/ops/workflows/").content.decode()
    assert 'says "no"' in page(operator, failed)


def test_the_signal_that_a_run_waits_for_is_filled_in(run: Handle, operator: Client) -> None:
    assert re.search(r'name="name" value="approve"', page(operator, run))


def test_a_list_shows_places_without_folders(run: Handle, operator: Client) -> None:
    shown = html.unescape(operator.get("/ops/workflows/").content.decode())
    assert re.search(r'<span class="under">test_runs\.py:\d+ in approval</span>', shown)


def test_the_list_goes_on_page_by_page(namespace: str, operator: Client) -> None:
    for _ in range(51):
        approval.start(60.0)
    first = operator.get("/ops/workflows/").content.decode()
    older = html.unescape(re.findall(r'rel="next" href="([^"]+)"', first)[0])
    assert operator.get(older).content.decode().count("data-row") == 1


def test_the_timeline_has_a_bar_for_each_command(namespace: str, operator: Client) -> None:
    ended = sums.start(3)
    run_worker()
    shown = page(operator, ended)
    assert shown.count('class="span-bar"') == 4
    assert f"/ops/tasks/{ended.id}.2/" in shown
    assert "The code calls an activity." in shown


def test_a_run_is_reset_to_a_step_after_a_question(run: Handle, operator: Client) -> None:
    assert "Reset to entry 1" in page(operator, run)
    asked = operator.post(f"/ops/workflows/{run.id}/_reset", {"pool": "default", "entry": "1"})
    assert asked.status_code == 200
    assert "makes the step again" in asked.content.decode()
    assert run.state == State.IDLE
    assert act(operator, run, "reset", entry="1", reason="wrong turn", confirmed="1") == 302
    assert run.state == State.CANCELLED
    entry = AuditEntry.objects.get(verb="reset_runs")
    assert (entry.outcome, entry.reason) == ("done", "wrong turn")
    shown = page(operator, run)
    assert "Runs of this instance" in shown
    assert "Reset to entry" not in shown
    assert approval.handle("order/7").id in shown


def test_a_run_is_terminated_after_a_question(run: Handle, operator: Client) -> None:
    assert f"/ops/workflows/{run.id}/_terminate" in page(operator, run)
    asked = operator.post(f"/ops/workflows/{run.id}/_terminate", {"pool": "default"})
    assert asked.status_code == 200
    assert all(text in asked.content.decode() for text in ("Its code is not asked.", "Terminate 1 run"))
    assert run.state == State.IDLE
    assert act(operator, run, "terminate", reason="wrong order", confirmed="1") == 302
    assert run.state == State.CANCELLED
    entry = AuditEntry.objects.get(verb="cancel")
    assert (entry.outcome, entry.reason) == ("done", "wrong order")


def test_why_names_the_reason_of_a_blocked_run_and_its_remedy(run: Handle, operator: Client) -> None:
    run.signal("approve", 1)
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    blocked = Settlement(lease.id, lease.fence, Outcome.SUCCESS, b'{"blocked": "the code has changed"}')
    get_broker().exchange("default", "w1", RoundTrip(settle=[blocked]))
    why = html.unescape(operator.get(f"/ops/tasks/{run.id}/why/").content.decode())
    assert "The run is blocked since" in why
    assert "the code has changed" in why
    assert "reset it to an earlier step" in why
    act(operator, run, "suspend")
    assert "The run is suspended." in operator.get(f"/ops/tasks/{run.id}/why/").content.decode()


def test_a_run_is_started_from_the_form_of_another(run: Handle, operator: Client) -> None:
    assert 'action="/ops/workflows/_start"' in page(operator, run)
    form = {"name": "wf.approval", "instance": "order/8", "args": "[60.0]", "kwargs": "{}"}
    reply = operator.post("/ops/workflows/_start", form)
    assert reply.status_code == 302
    assert approval.handle("order/8").id in reply["Location"]
    again = operator.post("/ops/workflows/_start", form)
    assert again.status_code == 422
    assert "has a run that has not ended" in html.unescape(again.content.decode())
    assert [entry.outcome for entry in AuditEntry.objects.filter(verb="start_run")] == ["failed", "done"]


def test_late_events_of_a_pool_are_shown_in_the_overview(run: Handle, operator: Client) -> None:
    run.terminate()
    with pytest.raises(RunEnded):
        run.signal("approve")
    shown = html.unescape(operator.get("/ops/").content.decode())
    assert "1 event of a workflow came too late in the last hour, and was dropped." in shown


def test_the_role_of_a_worker_is_shown(namespace: str, operator: Client) -> None:
    fields = {"slots": 4, "state": "live", "host": "elsewhere", "pools": "default", "kinds": "workflow"}
    get_broker().beat("default", "w1", fields)
    shown = html.unescape(operator.get("/ops/workers/").content.decode())
    assert '<span class="under">kinds workflow</span>' in shown
    assert "<dt>Kinds</dt><dd>workflow</dd>" in operator.get("/ops/workers/w1/").content.decode()
    run = approval.start(60.0)
    get_broker().beat("default", "w1", fields | {"kinds": "!workflow"})
    why = html.unescape(operator.get(f"/ops/tasks/{run.id}/why/").content.decode())
    assert "No live worker takes tasks of the kind workflow: each was started with other --kinds." in why
