"""The console on the real engine: aggregations, the callback queue, and a job with its callback as one story."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect, jobs
from queueops.kinds.jobs import api_tokens
from queueops.testing import run_worker
from tests.console.conftest import administrator, client_of, collected, operator, viewer  # noqa: F401  fixtures
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import LocalServer
from tests.jobs.test_callbacks import callback_of, target  # noqa: F401  a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


def submitted(target: LocalServer, path: str = "/gone", **given: Any) -> Any:  # noqa: F811
    """A job that has ended, and whose callback was tried once."""
    job = jobs.submit(aggregation="shop 7", handler="work", callback_url=target.url(path), **given)
    run_worker()
    return job


def test_the_page_of_aggregations_shows_pauses_and_limits_one(
    target: LocalServer,  # noqa: F811
    handler: Register,
    administrator: Client,  # noqa: F811
) -> None:
    handler(lambda job: None)
    submitted(target)
    (row,) = inspect.aggregations().rows
    page = administrator.get("/ops/aggregations/").content.decode()
    assert "shop 7" in page
    administrator.post(f"/ops/aggregations/default/{row.lane}/_set", {"limit": "9", "rate": "", "weight": "1"})
    administrator.post(f"/ops/aggregations/default/{row.lane}/_pause", {})
    (row,) = inspect.aggregations().rows
    assert (row.limit, row.paused) == (9, True)
    assert [entry.verb for entry in AuditEntry.objects.order_by("pk")] == ["set_lane", "pause"]
    administrator.post(f"/ops/aggregations/default/{row.lane}/_resume", {})
    assert not inspect.aggregations().rows[0].paused
    wrong = administrator.post(f"/ops/aggregations/default/{row.lane}/_set", {"limit": "0", "weight": "1"})
    assert wrong.status_code == 422
    assert administrator.post("/ops/aggregations/default/aggr:unknown/_pause", {}).status_code == 404


def test_the_story_of_a_job_names_its_aggregation_as_it_was_given(
    target: LocalServer,  # noqa: F811
    handler: Register,
    viewer: Client,  # noqa: F811
) -> None:
    handler(lambda job: None)
    job = submitted(target)
    page = viewer.get(f"/ops/tasks/{job.id}/delivery/").content.decode()
    assert ">shop 7</a>" in page


CALLBACK_BADGE = re.compile(r'<span class="state (st-\w+)" title="([^"]+)"><svg.*?</svg>([^<]+)</span>', re.DOTALL)


@pytest.mark.parametrize(
    ("path", "badge"),
    [
        ("/ok", ("st-succeeded", "its target has taken it", "delivered")),
        ("/gone", ("st-failed", "was not delivered, and is not tried again", "dead")),
        ("/busy", ("st-restart", "was not delivered; waits for its next attempt", "backing off")),
    ],
)
def test_a_callback_has_one_word_for_its_state(
    target: LocalServer,  # noqa: F811
    handler: Register,
    viewer: Client,  # noqa: F811
    path: str,
    badge: tuple[str, str, str],
) -> None:
    handler(lambda job: None)
    job = submitted(target, path)
    row = callback_of(job)
    page = viewer.get("/ops/callbacks/").content.decode()
    assert CALLBACK_BADGE.findall(page) == [badge]
    assert re.search(rf'show={row.word}"[^>]*>\s*<svg.*?</svg>\s*{badge[-1]} <b>1</b>', page, re.DOTALL)
    assert badge in CALLBACK_BADGE.findall(viewer.get(f"/ops/tasks/{job.id}/delivery/").content.decode())
    own = viewer.get(f"/ops/tasks/{row.id}/delivery/").content.decode()
    head, _, story = own.partition('<nav class="tabs"')
    assert (CALLBACK_BADGE.findall(head), CALLBACK_BADGE.findall(story)[-1:]) == ([badge], [badge])


@pytest.mark.parametrize(("path", "verbs"), [("/gone", ["Redeliver"]), ("/busy", ["Redeliver", "Discard"])])
def test_the_head_of_a_callback_has_the_verbs_of_callbacks(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
    path: str,
    verbs: list[str],
) -> None:
    handler(lambda job: None)
    row = callback_of(submitted(target, path))
    head = operator.get(f"/ops/tasks/{row.id}/delivery/").content.decode().partition('<nav class="tabs"')[0]
    labels = [label.strip() for label in re.findall(r"</svg>([^<]+)</button>", head)]
    assert [label for label in labels if label in ("Redeliver", "Retry", "Discard", "Cancel", "Delete")] == verbs


def test_the_destinations_have_their_limits_too(target: LocalServer, handler: Register, viewer: Client) -> None:  # noqa: F811
    handler(lambda job: None)
    submitted(target)
    page = viewer.get("/ops/aggregations/?show=destinations").content.decode()
    assert f"127.0.0.1:{target.port}" in page
    assert "shop 7" not in page


def test_a_dead_callback_is_found_by_state_and_host_and_sent_again(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
) -> None:
    handler(lambda job: None)
    job = submitted(target)
    row = callback_of(job)
    page = operator.get(f"/ops/callbacks/?show=dead&to=127.0.0.1:{target.port}").content.decode()
    assert f'value="default {row.id}"' in page
    assert "HTTP 410" in page
    assert target.url("/gone") in page
    assert row.id not in operator.get("/ops/callbacks/?show=delivered").content.decode()
    target.routes["/gone"] = target.routes["/ok"]
    operator.post("/ops/tasks/_retry", {"task": f"default {row.id}", "next": "/ops/callbacks/?show=dead"})
    run_worker()
    assert callback_of(job).state == "succeeded"
    assert AuditEntry.objects.get().verb == "retry"


def test_all_dead_callbacks_of_a_host_are_sent_again_after_a_question_with_their_number(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
) -> None:
    handler(lambda job: None)
    made = [submitted(target), submitted(target)]
    page = operator.get(f"/ops/callbacks/?show=dead&to=127.0.0.1:{target.port}").content.decode()
    address = page.partition('formaction="/ops/tasks/_all_retry')[2].partition('"')[0].replace("&amp;", "&")
    asked = operator.post(f"/ops/tasks/_all_retry{address}", {}).content.decode()
    assert "Redeliver at most 2 callbacks</h1>" in asked
    found = inspect.callback_query("dead", "").params()
    whole = operator.post(f"/ops/tasks/_all_retry?{urlencode(found)}", {}).content.decode()
    assert "Redeliver all 2 callbacks</h1>" in whole
    assert "Redeliver 2 callbacks</button>" in whole
    assert "Retry" not in whole
    target.routes["/gone"] = target.routes["/ok"]
    operator.post(f"/ops/tasks/_all_retry{address}", {"confirmed": "2", "typed": "2", "reason": "it is back"})
    run_worker()
    assert [callback_of(job).state for job in made] == ["succeeded", "succeeded"]


def test_a_viewer_sees_hosts_and_answers_and_no_url_or_body(
    target: LocalServer,  # noqa: F811
    handler: Register,
    viewer: Client,  # noqa: F811
) -> None:
    handler(lambda job: {"colour": "green"})
    job = submitted(target)
    for path in ("/ops/callbacks/", f"/ops/tasks/{job.id}/delivery/"):
        page = viewer.get(path).content.decode()
        assert f"127.0.0.1:{target.port}" in page
        assert "/gone" not in page
        assert "green" not in page
    assert viewer.post("/ops/tasks/_retry", {"task": f"default {callback_of(job).id}"}).status_code == 403


def test_the_tab_of_a_job_and_that_of_its_callback_tell_both(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
) -> None:
    handler(lambda job: {"colour": "green", "password": "hunter2"})
    job = submitted(target, extra="order 7")
    row = callback_of(job)
    for id in (job.id, row.id):
        page = operator.get(f"/ops/tasks/{id}/delivery/").content.decode()
        assert job.id in page
        assert row.id in page
        assert "HTTP 410" in page
        assert "order 7" in page
        assert "green" in page
        assert "hunter2" not in page


def test_a_job_that_has_not_ended_has_no_callback_yet(
    target: LocalServer,  # noqa: F811
    operator: Client,  # noqa: F811
) -> None:
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/ok"))
    assert "The job has not ended." in operator.get(f"/ops/tasks/{job.id}/delivery/").content.decode()


@pytest.mark.parametrize("wrong", ["?show=unknown", "?after=unknown"])
def test_a_wrong_filter_is_said(namespace: str, viewer: Client, wrong: str) -> None:  # noqa: F811
    assert "flash-error" in viewer.get(f"/ops/callbacks/{wrong}").content.decode()


def test_the_maintenance_is_started_after_a_question_and_ended(
    namespace: str,
    administrator: Client,  # noqa: F811
    operator: Client,  # noqa: F811
) -> None:
    asked = administrator.post("/ops/maintenance/_start", {}).content.decode()
    assert ("answers 503" in asked, "Start maintenance</h1>" in asked) == (True, True)
    assert inspect.maintenance() is None
    begun = administrator.post("/ops/maintenance/_start", {"confirmed": "1", "reason": "new disks"}, follow=True)
    assert "Start maintenance. The health check of the API answers 503." in begun.content.decode()
    assert (found := inspect.maintenance()) is not None
    assert (found.who, found.reason) == ("administrators", "new disks")
    assert operator.post("/ops/maintenance/_stop", {}).status_code == 403
    assert "new disks" in operator.get("/ops/aggregations/").content.decode()
    assert "End the maintenance.<" in administrator.post("/ops/maintenance/_stop", {}, follow=True).content.decode()
    assert inspect.maintenance() is None
    verbs = AuditEntry.objects.order_by("pk").values_list("verb", flat=True)
    assert [*verbs] == ["start_maintenance", "stop_maintenance", "stop_maintenance"]


def test_a_token_is_made_shown_once_and_revoked_on_its_page(administrator: Client, viewer: Client) -> None:  # noqa: F811
    form = {"name": "shop", "scopes": ["submit", "read"], "rate": "2.5", "body_limit": ""}
    made = administrator.post("/ops/api-tokens/_create", form)
    (secret,) = re.findall(r"qo_[\w-]+", made.content.decode())
    assert "no-store" in made["Cache-Control"]
    found = api_tokens.token_of(secret)
    assert found is not None
    assert (found.name, found.scopes, found.rate, found.body_limit) == ("shop", ("submit", "read"), 2.5, None)
    assert found.created_by == "administrators"
    page = viewer.get("/ops/api-tokens/").content.decode()
    assert "shop" in page
    assert secret not in page
    assert "_create" not in page
    again = administrator.post("/ops/api-tokens/_create", form)
    assert (again.status_code, "a name that no valid token has" in again.content.decode()) == (422, True)
    assert administrator.post("/ops/api-tokens/_create", form | {"scopes": ["root"]}).status_code == 422
    assert administrator.post(f"/ops/api-tokens/{found.id}/_revoke").status_code == 200
    assert administrator.post(f"/ops/api-tokens/{found.id}/_revoke", {"confirmed": "1"}).status_code == 302
    assert api_tokens.token_of(secret) is None
    assert administrator.post(f"/ops/api-tokens/{found.id}/_revoke", {"confirmed": "1"}).status_code == 404
    assert "revoked" in administrator.get("/ops/api-tokens/").content.decode()
    entries = AuditEntry.objects.order_by("pk").values_list("verb", "target", "outcome")
    assert list(entries) == [
        ("create_token", "shop", "done"), ("create_token", "shop", "failed"), ("revoke_token", "shop", "done")
    ]  # fmt: skip
    assert secret not in str(list(AuditEntry.objects.values()))


def test_without_the_app_of_the_api_the_page_of_tokens_says_what_to_add(
    administrator: Client,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_tokens, "APP", "none")
    assert "Add it, and run manage.py migrate" in administrator.get("/ops/api-tokens/").content.decode()


def test_ticked_callbacks_are_redirected_after_a_question_and_a_test_is_sent(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
) -> None:
    handler(lambda job: None)
    job = submitted(target)
    row = callback_of(job)
    form = {"task": f"default {row.id}", "url": target.url("/ok")}
    nothing = operator.post("/ops/callbacks/_redirect", {"url": target.url("/ok")}, follow=True)
    assert "Select the callbacks that go to another address." in nothing.content.decode()
    assert "with the same body and id" in operator.post("/ops/callbacks/_redirect", form).content.decode()
    operator.post("/ops/callbacks/_redirect", form | {"confirmed": "1"})
    run_worker()
    assert (callback_of(job).state, callback_of(job).url) == ("succeeded", target.url("/ok"))
    operator.post("/ops/callbacks/_test", {"url": target.url("/ok")})
    operator.post("/ops/callbacks/_test", {"url": "no address"})
    refused = operator.post("/ops/callbacks/_test", {"url": "http://10.0.0.1/"}, follow=True).content.decode()
    assert "10.0.0.1 is private" in refused
    run_worker()
    assert [asked.path for asked in target.asked] == ["/gone", "/ok", "/ok"]
    entries = [(entry.verb, entry.outcome) for entry in AuditEntry.objects.order_by("pk")]
    assert entries == [
        ("redirect_callbacks", "done"),
        ("send_test_callback", "done"),
        ("send_test_callback", "failed"),
    ]


def test_all_that_match_are_sent_again_at_a_rate_or_to_another_address(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
) -> None:
    handler(lambda job: None)
    made = [submitted(target) for _ in range(3)]
    shown = f"show=dead&to=127.0.0.1:{target.port}"
    page = operator.get(f"/ops/callbacks/?{shown}").content.decode()
    for verb in ("redeliver", "redirect"):
        assert f'formaction="/ops/callbacks/_{verb}_all?show=dead' in page
    url = f"/ops/callbacks/_redeliver_all?{shown}"
    asked = operator.post(url, {"url": "", "confirmed": ""}).content.decode()
    assert "Callbacks a second" in asked
    assert "Redeliver at most 3 callbacks at a rate</h1>" in asked
    assert "Redeliver at most 3 callbacks at a rate</button>" in asked
    whole = operator.post("/ops/callbacks/_redeliver_all?show=dead").content.decode()
    assert "Redeliver all 3 callbacks at a rate</h1>" in whole
    assert "Redeliver 3 callbacks at a rate</button>" in whole
    assert "All of them can be changed." in asked
    operator.post(url, {"rate": "0.1", "confirmed": "3"})
    states = sorted(callback_of(job).state for job in made)
    assert states == ["pending", "postponed", "postponed"]
    run_worker()
    url = f"/ops/callbacks/_redirect_all?show=scheduled&to=127.0.0.1:{target.port}"
    assert "All of them can be changed." in operator.post(url).content.decode()
    for form in ({"confirmed": "2"}, {"confirmed": "2", "url": "http://10.0.0.1/"}):
        operator.post(url, form)
        assert "postponed" in {callback_of(job).state for job in made}
    operator.post(url, {"confirmed": "2", "url": target.url("/ok"), "rate": ""})
    run_worker()
    assert sorted(callback_of(job).state for job in made) == ["failed", "succeeded", "succeeded"]
    entries = [(entry.verb, entry.outcome, entry.changed) for entry in AuditEntry.objects.order_by("pk")]
    assert entries[0] == ("retry", "done", 3)
    assert entries[-1] == ("redirect_callbacks", "done", 2)


def test_the_question_before_many_are_sent_again_says_nothing_of_workers(operator: Client) -> None:  # noqa: F811
    given = {"aggregation": "a", "handler": "work", "callback_url": "http://a.example/done"}
    made = [job.id for job in jobs.submit_many([given] * 501)]
    for some in (made[:500], made[500:]):
        control.cancel(some)
        control.discard_callbacks([row.followed_by[0].id for id in some if (row := inspect.task(id))])
    asked = operator.post("/ops/callbacks/_redeliver_all?show=discarded").content.decode()
    assert "501" in asked
    for word in ("Workers perform", "live worker", "its page stays open"):
        assert word not in asked


def test_a_viewer_sends_nothing_again(viewer: Client) -> None:  # noqa: F811
    for verb in ("redeliver", "redirect"):
        assert viewer.post(f"/ops/callbacks/_{verb}_all?show=dead").status_code == 403


def test_an_open_circuit_is_shown_and_closed_by_an_operator(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
    viewer: Client,  # noqa: F811
    settings: Any,
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"CIRCUIT_FAILURES": 1, "CIRCUIT_WAIT": 3600}}
    handler(lambda job: None)
    submitted(target, "/busy")
    row = inspect.destination(f"127.0.0.1:{target.port}")
    assert (row.circuit, row.failures) == ("open", 1)
    pages = [each.get(f"/ops/callbacks/?to={row.id}").content.decode() for each in (operator, viewer)]
    assert [target.url("/busy") in page.split("chips")[0] for page in pages] == [True, False]
    assert re.search(r"The next callback is tried <time[^>]*>in \d", pages[1]), "the time has its own preposition"
    assert "circuit open" in viewer.get("/ops/aggregations/?show=destinations").content.decode()
    path = f"/ops/aggregations/default/{row.lane}/_close_circuit"
    assert viewer.post(path, {}).status_code == 403
    operator.post(path, {})
    assert inspect.destination(row.id).circuit == "closed"
    assert AuditEntry.objects.latest("pk").verb == "close_circuit"


def test_an_administrator_drains_an_aggregation_sets_its_proxy_and_deletes_it(
    handler: Register,
    administrator: Client,  # noqa: F811
    operator: Client,  # noqa: F811
) -> None:
    job = jobs.submit(aggregation="shop 7", handler="work")
    path = f"/ops/aggregations/default/{inspect.aggregation('shop 7').lane}/_"
    assert operator.post(f"{path}drain", {"confirmed": "1"}).status_code == 403
    administrator.post(f"{path}drain", {"confirmed": "1"})
    proxy = {"proxy": "http://ann:hunter2@93.184.215.14:3128", "confirmed": "1"}
    administrator.post(f"{path}proxy", proxy)
    page = administrator.get("/ops/aggregations/").content.decode()
    assert "draining" in page
    assert "http://***@93.184.215.14:3128" in page
    assert "hunter2" not in page
    administrator.post(f"{path}accept", {})
    assert not inspect.aggregation("shop 7").draining
    typed = {"confirmed": "1", "typed": "1", "reason": "gone"}
    kept = administrator.post(f"{path}remove", typed, follow=True).content.decode()
    assert "1 jobs are kept there" in kept
    control.cancel([job.id])
    control.delete([job.id])
    administrator.post(f"{path}remove", typed)
    assert inspect.aggregation("shop 7") is None
    entries = [(entry.verb, entry.outcome) for entry in AuditEntry.objects.order_by("pk")]
    assert entries == [
        ("drain_aggregation", "denied"),
        ("drain_aggregation", "done"),
        ("set_proxy", "done"),
        ("accept_jobs", "done"),
        ("delete_aggregation", "failed"),
        ("delete_aggregation", "done"),
    ]
    assert "hunter2" not in "".join(str(vars(entry)) for entry in AuditEntry.objects.all())
