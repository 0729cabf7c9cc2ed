"""The HTTP API: lists of jobs, actions on them, aggregations, health and statistics."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect, jobs
from queueops.inspect import CALLBACK_STATES
from queueops.management.queue import audit
from queueops.testing import run_worker
from tests.jobs.api_client import GOOD, get, post, sent_by
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import serving
from tests.support.for_each import for_each


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[audit.Act]:
    """The acts that a keeper of another project than the console gets."""
    found: list[audit.Act] = []

    class Keep:
        def __init__(self, act: audit.Act) -> None:
            found.append(act)

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(audit, "_keepers", [Keep])
    return found


def patch(api: Client, path: str, body: Any) -> tuple[int, Any]:
    response = api.patch(f"/api/v1/{path}", body, content_type="application/json")
    return response.status_code, response.json()


def test_jobs_are_listed_by_aggregation_state_host_and_age(api: Client) -> None:
    made = [
        post(api, {"aggr_id": aggr_id, "url": url})[1]["id"]
        for aggr_id, url in (("a", "http://93.184.215.14/1"), ("a", "http://93.184.215.15/2"), ("b /c", GOOD["url"]))
    ]

    def ids(**query: Any) -> list[str]:
        return [job["id"] for job in get(api, "jobs", **query)["jobs"]]

    assert ids() == made[::-1]
    assert ids(aggr_id="a") == [made[1], made[0]]
    assert ids(aggr_id="b /c") == [made[2]]
    assert ids(host="93.184.215.14") == [made[2], made[0]]
    assert ids(host="93.184.215.14", aggr_id="a", state="pending") == [made[0]]
    assert ids(state="failed") == ids(aggr_id="none") == ids(older_than=3600) == []
    assert ids(newer_than=3600, state="pending") == made[::-1]


def test_pages_follow_each_other_without_gaps(api: Client) -> None:
    made = post(api, {"jobs": [GOOD | {"url": f"http://93.184.215.1{n % 2}/{n}"} for n in range(9)]}, "jobs/bulk")[1]
    for query, wanted in (({}, made["ids"]), ({"host": "93.184.215.11"}, made["ids"][1::2])):
        found, after = [], ""
        while True:
            page = get(api, "jobs", limit=2, after=after, **query)
            assert len(page["jobs"]) == 2 or not page["next"]
            found += [job["id"] for job in page["jobs"]]
            if not (after := page["next"]):
                break
        assert found == wanted[::-1]


def test_a_rare_host_ends_a_page_before_it_is_full(api: Client) -> None:
    post(api, {"jobs": [{"aggr_id": "a", "url": f"http://93.184.215.14/{n}"} for n in range(12)]}, "jobs/bulk")
    page = get(api, "jobs", limit=1, host="93.184.215.15")
    assert (page["jobs"], page["partial"]) == ([], True)
    assert get(api, "jobs", limit=1, host="93.184.215.15", after=page["next"])["next"] == ""


@for_each(
    ("name", "value"),
    [
        ("state", "running"), ("after", "x"), ("limit", 0), ("limit", 201), ("older_than", -1), ("older_than", "inf"),
        ("newer_than", "9" * 400), ("colour", "red"), ("aggr_id", "x" * 201),
    ],
)  # fmt: skip
def test_a_wrong_filter_is_refused(api: Client, name: str, value: Any) -> None:
    response = api.get("/api/v1/jobs", {name: value})
    assert (response.status_code, response["Content-Type"]) == (422, "application/problem+json")
    assert [each["field"] for each in response.json()["errors"]] == [name]


def test_a_job_is_cancelled_once_and_run_again(api: Client, kept: list[audit.Act]) -> None:
    id = post(api, GOOD)[1]["id"]
    assert post(api, {}, f"jobs/{id}/cancel") == (200, {"id": id, "state": "cancelled"})
    shown = get(api, f"jobs/{id}")
    assert (shown["state"], [each["state"] for each in shown["callbacks"]]) == ("cancelled", ["pending"])
    status, problem = post(api, {}, f"jobs/{id}/cancel")
    assert (status, problem["detail"][:20]) == (409, "Nothing was changed:")
    assert post(api, {}, f"jobs/{id}/retry") == (200, {"id": id, "state": "pending"})
    assert [(act.verb, act.who, act.pool, act.ids) for act in kept] == [
        (verb, "shop (API token)", "default", [id]) for verb in ("cancel", "cancel", "retry")
    ]
    assert [act.rows[0].word for act in kept] == ["OK", "REFUSED", "OK"]


def test_a_dead_callback_is_sent_again_and_the_job_is_not(
    api: Client, settings: Any, handler: Register, kept: list[audit.Act]
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": settings.QUEUEOPS["JOBS"] | LOCAL}
    handler(lambda job: None)
    with serving({"/gone": lambda exchange: exchange.answer(410, b"closed")}) as target:
        job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/gone"))
        run_worker()
    (callback,) = get(api, f"jobs/{job.id}")["callbacks"]
    assert callback["state"] == "dead"
    assert get(api, "statistics")["callbacks"] == dict.fromkeys(CALLBACK_STATES, 0) | {"dead": 1}
    assert "HTTP 410" in callback["answer"]
    assert post(api, {}, f"jobs/{job.id}/callback/retry") == (200, {"id": callback["id"], "state": "pending"})
    assert get(api, f"jobs/{job.id}")["state"] == "succeeded"
    assert post(api, {}, f"jobs/{callback['id']}/retry")[0] == 404
    other = post(api, GOOD)[1]["id"]
    assert post(api, {}, f"jobs/{other}/callback/retry")[0] == 409


@pytest.mark.parametrize("verb", ["cancel", "retry", "callback/retry"])
def test_an_action_on_no_job_is_not_found(api: Client, verb: str) -> None:
    assert post(api, {}, f"jobs/unknown/{verb}")[0] == 404


@pytest.mark.parametrize("aggr_id", ["shop", "a/b?c #d", "Kaffee ☕", "x" * 200])
def test_an_aggregation_is_read_limited_paused_and_resumed(api: Client, aggr_id: str, kept: list[audit.Act]) -> None:
    post(api, GOOD | {"aggr_id": aggr_id})
    path = f"aggregations/{quote(aggr_id, safe='')}"
    shown = get(api, path)
    assert (shown["aggr_id"], shown["aggr_limit"], shown["ready"], shown["paused"]) == (aggr_id, 3, 1, False)
    assert get(api, "aggregations")["aggregations"] == [shown]
    assert patch(api, path, {"aggr_limit": 7, "rate": 2.5})[1] == shown | {"aggr_limit": 7, "rate": 2.5}
    assert patch(api, path, {"paused": True})[1]["paused"]
    assert patch(api, path, {"paused": False, "aggr_limit": None, "rate": None})[1] == shown | {"aggr_limit": None}
    assert [act.verb for act in kept] == ["set_lane", "pause", "set_lane", "resume"]
    assert kept[0].before == {"limit": 3, "rate": None}
    assert kept[0].after == {"limit": 7, "rate": 2.5}


def test_an_aggregation_is_drained_and_deleted_once_it_is_empty(api: Client, kept: list[audit.Act]) -> None:
    id = post(api, GOOD)[1]["id"]
    assert patch(api, "aggregations/shop", {"draining": True})[1]["draining"]
    assert post(api, GOOD)[0] == 409
    assert not patch(api, "aggregations/shop", {"draining": False})[1]["draining"]
    refused = api.delete("/api/v1/aggregations/shop")
    assert (refused.status_code, "1 jobs are kept" in refused.json()["detail"]) == (409, True)
    control.cancel([id])
    control.delete([id])
    assert api.delete("/api/v1/aggregations/shop").status_code == 204
    assert api.delete("/api/v1/aggregations/shop").status_code == 404
    verbs = ["drain_aggregation", "accept_jobs", "delete_aggregation", "delete_aggregation"]
    assert [act.verb for act in kept] == verbs
    assert [act.changed for act in kept] == [1, 1, None, 1]


def test_the_proxy_of_an_aggregation_is_changed_and_shown_without_its_password(
    api: Client, kept: list[audit.Act]
) -> None:
    post(api, GOOD)
    proxy = "http://ada:secret@93.184.215.14:3128"
    assert patch(api, "aggregations/shop", {"aggr_proxy": proxy})[1]["aggr_proxy"] == "http://***@93.184.215.14:3128"
    assert "secret" not in str(kept)
    status, problem = patch(api, "aggregations/shop", {"aggr_proxy": "http://127.0.0.1"})
    assert (status, [each["field"] for each in problem["errors"]]) == (422, ["aggr_proxy"])
    assert patch(api, "aggregations/shop", {"aggr_proxy": ""})[1]["aggr_proxy"] == ""
    assert [act.verb for act in kept] == ["set_proxy", "set_proxy"]


@for_each(
    ("field", "value"),
    [
        ("draining", 1), ("aggr_proxy", None), ("aggr_limit", 0), ("aggr_limit", "3"), ("rate", 0), ("rate", True),
        ("paused", 1), ("paused", None), ("id", "b"),
    ],
)  # fmt: skip
def test_a_wrong_change_of_an_aggregation_names_the_field(api: Client, field: str, value: Any) -> None:
    post(api, GOOD)
    status, problem = patch(api, "aggregations/shop", {field: value})
    assert status == 422, problem
    assert {each["field"].split(".")[0] for each in problem["errors"]} == {field}
    assert get(api, "aggregations/shop")["aggr_limit"] == 3


def test_an_unknown_aggregation_is_not_found(api: Client) -> None:
    assert api.get("/api/v1/aggregations/none").status_code == 404
    assert patch(api, "aggregations/none", {"paused": True})[0] == 404
    assert api.get(f"/api/v1/aggregations/{'x' * 201}").status_code == 422


def test_who_only_reads_changes_nothing(api: Client, settings: Any, kept: list[audit.Act]) -> None:
    id = post(api, GOOD)[1]["id"]
    for name, read_only in (("viewer", False), ("shop", True)):
        settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": read_only}
        client = sent_by(api, name)
        assert post(client, {}, f"jobs/{id}/cancel")[0] == 403
        assert patch(client, "aggregations/shop", {"paused": True})[0] == 403
    assert kept == []
    assert get(api, f"jobs/{id}")["state"] == "pending"


def test_a_change_over_http_is_in_the_audit_log_of_the_console(api: Client) -> None:
    id = post(api, GOOD)[1]["id"]
    post(api, {}, f"jobs/{id}/cancel")
    patch(api, "aggregations/shop", {"aggr_limit": 9})
    change, cancel = AuditEntry.objects.all()
    assert (cancel.actor_name, cancel.verb, cancel.ids, cancel.outcome) == (
        "shop (API token)", "cancel", [["default", id]], "done",
    )  # fmt: skip
    assert (cancel.address, cancel.changed) == ("127.0.0.1", 1)
    assert (change.verb, change.target, change.after) == ("set_lane", "default/aggr:shop", {"limit": 9, "rate": None})


def test_without_the_console_a_change_is_a_line_of_the_log(
    api: Client, kept: list[audit.Act], caplog: pytest.LogCaptureFixture
) -> None:
    id = post(api, GOOD)[1]["id"]
    with caplog.at_level(logging.INFO, "queueops.kinds.jobs.api.audit"):
        post(api, {}, f"jobs/{id}/cancel")
    assert caplog.messages == [f"shop (API token) from 127.0.0.1: cancel {id}: OK"]


def test_health_needs_no_token_and_no_store(api: Client, settings: Any) -> None:
    anyone = Client()
    assert anyone.get("/api/v1/ready").json() == {"status": "ok"}
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": "unix:///nowhere/valkey.sock"}
    assert anyone.get("/api/v1/health").json() == {"status": "ok"}
    response = anyone.get("/api/v1/ready")
    assert (response.status_code, response["Content-Type"]) == (503, "application/problem+json")


@for_each("path", ["health", "ready", "jobs", "jobs/none", "aggregations", "docs"])
def test_head_is_a_get_without_its_body(api: Client, path: str) -> None:
    asked, head = api.get(f"/api/v1/{path}"), api.head(f"/api/v1/{path}")
    assert (head.status_code, head["Content-Type"]) == (asked.status_code, asked["Content-Type"])
    assert (head.content, head["Content-Length"]) == (b"", str(len(asked.content)))


def test_statistics_count_jobs_and_callbacks_by_state(api: Client, kept: list[audit.Act]) -> None:
    ids = post(api, {"jobs": [GOOD, GOOD, GOOD]}, "jobs/bulk")[1]["ids"]
    post(api, {}, f"jobs/{ids[0]}/cancel")
    found = get(api, "statistics")
    assert set(found["jobs"]) == {
        "postponed", "pending", "locked", "restart", "quarantined", "succeeded", "failed", "cancelled",
    }  # fmt: skip
    assert (found["jobs"]["pending"], found["jobs"]["cancelled"], found["callbacks"]["pending"]) == (2, 1, 1)
    assert found["workers"] == len(inspect.workers()) == 0
    assert found["counts"] == {}
    assert found["alarms"]
