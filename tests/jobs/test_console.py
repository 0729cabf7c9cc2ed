"""The console on the real engine: aggregations, the callback queue, and a job with its callback as one story."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import inspect, jobs
from queueops.testing import run_worker
from tests.console.conftest import administrator, client_of, collected, operator, viewer  # noqa: F401  fixtures
from tests.jobs.conftest import Register
from tests.jobs.servers import LocalServer
from tests.jobs.test_callbacks import callback_of, target  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db


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
    assert "all tasks that match, 2 at most" in asked
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
