"""Secrets in URLs of jobs and callbacks are masked in each place where values are shown or logged."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect, jobs
from queueops.errors.job_network import AddressRefused
from queueops.jobs import Job
from queueops.kinds.jobs.api_tokens import Scope
from queueops.kinds.jobs.http.net_guard import check_url
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JobCalls
from queueops.logs import TextFormatter
from queueops.redis.broker import get_role
from queueops.tasks.by_name import task_named
from queueops.testing import run_worker
from tests.console.conftest import administrator, client_of, collected  # noqa: F401  fixtures
from tests.jobs.api_client import GOOD, get, post
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import LocalServer, serving

pytestmark = pytest.mark.django_db
SECRET = "hunter2"
PARAMETERS = ("sig", "key", "code", "auth", "jwt", "hmac", "sign", "X-Amz-Signature", "token")
QUERY = "&".join(f"{name}={SECRET}{number}" for number, name in enumerate(PARAMETERS))


@pytest.fixture
def source(namespace: str, settings: Any, handler: Register) -> Iterator[LocalServer]:
    """A target that refuses callbacks, and a handler that tells its URL in its error."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}

    def work(job: Job) -> None:
        raise OSError(f"cannot open {job.url}")

    handler(work)
    with serving({"/told": lambda exchange: exchange.answer(404, b"no")}) as server:
        yield server


def submitted(source: LocalServer) -> str:
    """A job that has failed, and its callback, which is dead."""
    url = f"http://user:{SECRET}@a.example/?{QUERY}"
    job = jobs.submit(
        aggregation="a", handler="work", url=url, retries=0, callback_url=source.url(f"/told?{QUERY}"), extra=url
    )
    run_worker()
    return job.id


def test_lists_and_details_show_no_secret(source: LocalServer) -> None:
    id = submitted(source)
    found = inspect.task(id)
    shown = [inspect.jobs().rows, inspect.callbacks().rows, found, inspect.raw(id), inspect.job_story(found)]
    for callback in inspect.callbacks().rows:
        shown += [inspect.task(callback.id), inspect.raw(callback.id), inspect.callback_body(callback.id)]
    text = repr(shown)
    assert "a.example/?sig=***&key=***" in text
    assert SECRET not in text


def test_pages_of_the_console_show_no_secret(source: LocalServer, administrator: Client) -> None:  # noqa: F811
    id = submitted(source)
    (callback,) = inspect.callbacks().rows
    for path in (
        *("/ops/", "/ops/tasks/", "/ops/callbacks/", "/ops/callbacks/?show=dead", "/ops/errors/", "/ops/aggregations/"),
        *(
            f"/ops/tasks/{each}/{tab}"
            for each in (id, callback.id)
            for tab in ("", "delivery/", "raw/", "log/", "why/")
        ),
    ):
        answer = administrator.get(path)
        assert answer.status_code == 200, path
        assert SECRET not in answer.content.decode(), path


def test_the_api_shows_no_secret(api: Client, source: LocalServer) -> None:
    control.set_aggregation("shop", limit=1, new=True)
    job = GOOD | {"url": f"http://93.184.215.14/a.jpg?{QUERY}", "callback_url": f"https://a.example/done?{QUERY}"}
    status, answer = post(api, job)
    assert status == 201
    shown = json.dumps([get(api, "jobs"), get(api, f"jobs/{answer['id']}"), get(api, "aggregations/shop")])
    assert "sig=***" in shown
    assert SECRET not in shown
    wrong = post(api, job | {"url": f"ftp://93.184.215.14/?{QUERY}"})
    assert (wrong[0], SECRET in json.dumps(wrong)) == (422, False)


def test_a_url_as_it_is_shown_is_refused_as_input(api: Client, source: LocalServer) -> None:
    secret = f"https://ann:{SECRET}@93.184.215.14/?token={SECRET}"
    post(api, GOOD | {"url": secret, "callback_url": secret, "aggr_proxy": secret})
    (row,) = get(api, "jobs")["jobs"]
    shown, quoted = row["url"], row["url"].replace("*", "%2A")
    wrong = [{name: url} for name in ("url", "callback_url", "aggr_proxy") for url in (shown, quoted)]
    for fields in (*wrong, {"request_headers": {"X-Token": "[redacted]"}}):
        status, problem = post(api, GOOD | fields)
        assert (status, [each["field"] for each in problem["errors"]]) == (422, list(fields)), fields
    for call in (control.send_test_callback, lambda url: control.set_proxy("shop", url)):
        with pytest.raises(AddressRefused, match="in the place of a secret"):
            call(shown)


def test_arguments_as_they_are_shown_are_refused_as_input(api: Client, source: LocalServer) -> None:
    task_named("shop.charge", id="shown").push("https://ann:x@a.example/", {"password": SECRET})
    token = control.create_api_token("pushes", list(Scope)).secret
    client = Client(headers={"authorization": f"Bearer {token}"})
    shown = json.loads(client.get("/api/v1/tasks/shown?pool=default").json()["args_json"])
    assert SECRET not in json.dumps(shown)
    url, secret = shown[0]
    for given in ({"args": [url]}, {"args": [[secret]]}, {"kwargs": {"a": secret}}):
        answer = client.post("/api/v1/tasks", {"name": "shop.charge"} | given, content_type="application/json")
        assert (answer.status_code, [each["field"] for each in answer.json()["errors"]]) == (422, list(given)), given
    of_job = {"aggr_id": "a", "handler": "work"}
    for given in ({"extra": url}, {"options": secret}):
        status, problem = post(api, of_job | given)
        assert (status, [each["field"] for each in problem["errors"]]) == (422, list(given)), given
    assert not inspect.jobs().rows


def test_an_aggregation_as_it_is_read_is_written_back_and_keeps_its_password(api: Client, source: LocalServer) -> None:
    proxy = f"http://ann:{SECRET}@93.184.215.14:3128"
    post(api, GOOD | {"aggr_proxy": proxy})
    shown = get(api, "aggregations/shop")
    writable = ("aggr_limit", "rate", "aggr_proxy", "paused", "draining")
    sent = {name: shown[name] for name in writable} | {"aggr_limit": 7}
    patch = partial(api.patch, "/api/v1/aggregations/shop", content_type="application/json")
    assert patch(sent).json() == shown | {"aggr_limit": 7}
    assert get_role(JobCalls).proxy("default", "aggr:shop") == proxy
    assert patch({"aggr_proxy": shown["aggr_proxy"].replace("3128", "3129")}).status_code == 422
    assert get_role(JobCalls).proxy("default", "aggr:shop") == proxy


def test_a_console_form_refuses_a_url_as_it_is_shown(source: LocalServer, administrator: Client) -> None:  # noqa: F811
    submitted(source)
    (callback,) = inspect.callbacks().rows
    shown = {"url": "https://***@a.example/", "proxy": "http://***@93.184.215.14:3128", "confirmed": "1"}
    for path in ("callbacks/_redirect", "callbacks/_test", "aggregations/default/aggr:a/_proxy"):
        page = administrator.post(f"/ops/{path}", shown | {"task": f"default {callback.id}"}, follow=True)
        assert "in the place of a secret" in page.content.decode(), path
    assert [row.id for row in inspect.callbacks().rows] == [callback.id]
    assert get_role(JobCalls).proxy("default", "aggr:a") == ""


@pytest.mark.parametrize("arguments", [("export",), ("export", "--format", "csv")])
def test_the_export_has_no_secret(source: LocalServer, arguments: tuple[str, ...]) -> None:
    submitted(source)
    out = StringIO()
    call_command("jobs", *arguments, stdout=out)
    assert "sig=***" in out.getvalue()
    assert SECRET not in out.getvalue()


def test_log_lines_have_no_secret(source: LocalServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        submitted(source)
    lines = [TextFormatter().format(record) for record in caplog.records]
    assert any("cannot open http" in line for line in lines)
    assert [line for line in lines if SECRET in line] == []


def test_the_audit_log_has_no_secret(source: LocalServer, administrator: Client) -> None:  # noqa: F811
    submitted(source)
    (callback,) = inspect.callbacks().rows
    url = source.url(f"/told?{QUERY}")
    for path in ("/ops/callbacks/_redirect", "/ops/callbacks/_test"):
        administrator.post(path, {"task": f"default {callback.id}", "url": url, "confirmed": "1"})
    proxy = {"proxy": f"http://u:{SECRET}@127.0.0.1:9/?{QUERY}", "confirmed": "1"}
    administrator.post("/ops/aggregations/default/aggr:a/_proxy", proxy)
    kept = json.dumps(list(AuditEntry.objects.values()), default=str)
    assert {"redirect_callbacks", "send_test_callback", "set_proxy"} <= set(
        AuditEntry.objects.values_list("verb", flat=True)
    )
    assert SECRET not in kept


@pytest.mark.parametrize("url", ["https://a.example/?q=***", "https://a.example/***/?page=***#***"])
def test_a_url_with_asterisks_that_are_no_mask_is_taken(url: str) -> None:
    assert check_url(url, "url", of_jobs()).url.startswith("https://a.example/")


def test_a_secret_that_is_really_the_mask_is_refused_with_the_reason() -> None:
    with pytest.raises(AddressRefused, match=r"A secret that is really \*\*\* cannot be told from a mask"):
        check_url("https://a.example/?token=***", "url", of_jobs())
