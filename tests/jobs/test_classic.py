"""The classic routes: an older downloader's requests, answers and status codes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from queueops import control, inspect, jobs
from queueops.testing import run_worker
from tests.jobs.api_client import sent_by
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import serving
from tests.support.for_each import for_each

GOOD = {
    "aggr_id": "shop",
    "aggr_limit": 3.9,
    "url": "http://93.184.215.14/a.jpg",
    "callback_url": "https://a.example/done",
    "extra": '{"order": 7}',
}
TYPED = {name: value for name, value in GOOD.items() if name != "callback_url"} | {
    "callback_type": "http",
    "callback_dst": "https://a.example/done",
}


@pytest.fixture
def classic(api: Client, settings: Any) -> Client:
    """A client of the classic routes, which sends no token."""
    settings.ROOT_URLCONF = "tests.jobs.classic_urls"
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": settings.QUEUEOPS["JOBS"] | {"CLASSIC_OPEN": True}}
    client = Client()
    client.secrets = api.secrets  # type: ignore[attr-defined]
    return client


def send(client: Client, body: Any, path: str = "download") -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = client.post(f"/{path}", data, content_type="application/json")
    assert response.status_code == 201 or response["Content-Type"].startswith("text/") or not response.content
    return response.status_code, response.content.decode()


@pytest.mark.parametrize("body", [GOOD, TYPED, TYPED | {"callback_error_dst": "https://b.example/failed"}])
def test_a_job_is_handed_in(classic: Client, body: dict[str, Any]) -> None:
    status, text = send(classic, body)
    assert status == 201
    (row,) = inspect.jobs().rows
    assert json.loads(text) == {"id": row.id}
    found = inspect.aggregation("shop")
    assert (row.url, found and found.limit) == (GOOD["url"], 3)


def test_all_fields_are_taken(classic: Client) -> None:
    rest = {
        "aggr_proxy": "", "subpath": "a/b", "mime_type": "image/*", "max_retries": 1.5, "extract_image_size": True,
        "download_timeout": 4.7, "request_headers": {"X-A": "b"}, "callback_error_type": "http",
        "callback_error_dst": "https://b.example/failed",
    }  # fmt: skip
    id = json.loads(send(classic, TYPED | rest)[1])["id"]
    found = inspect.task(id)
    assert found is not None
    assert found.retries == 1
    given = json.loads(found.args_json)
    assert (given[-1] if isinstance(given, list) else given)["options"] == {
        "subpath": "a/b", "mime_type": "image/*", "extract_image_size": True, "download_timeout": 4,
        "request_headers": {"X-A": "b"},
    }  # fmt: skip


WRONG = [
    ("url", None), ("url", "foo"), ("url", ""), ("url", "/etc/passwd"), ("aggr_id", ""), ("aggr_id", 7),
    ("aggr_limit", None), ("aggr_limit", "3"), ("aggr_limit", 0), ("aggr_limit", True), ("aggr_proxy", None),
    ("aggr_proxy", "::"), ("callback_url", ""), ("callback_url", "http://10.0.0.1/"), ("mime_type", 1),
    ("mime_type", "image"),
    ("max_retries", -1), ("max_retries", "1"), ("max_retries", None), ("extract_image_size", "yes"),
    ("download_timeout", 0), ("download_timeout", None), ("download_timeout", "4"), ("request_headers", []),
    ("request_headers", {"A": 1}), ("subpath", "../x"), ("s3_bucket", "b"), ("s3_region", "r"),
    ("expiresAt", "2030"), ("user_agent", "x"), ("id", "mine"), ("aggr_id", "x" * 201), ("aggr_limit", 10**12),
    ("max_retries", 10**12),
]  # fmt: skip


@for_each(("field", "value"), WRONG)
def test_a_wrong_field_is_named_in_plain_text(classic: Client, field: str, value: Any) -> None:
    status, text = send(classic, GOOD | {field: value})
    assert status == 400
    named = {"aggr_proxy": ("proxy", "aggr_proxy"), "request_headers": ("header",)}.get(field, (field,))
    assert any(name in text for name in named), text
    assert "..." not in text
    assert inspect.jobs().rows == ()


@for_each(
    ("field", "value"),
    [
        ("callback_type", "kafka"), ("callback_type", ""), ("callback_dst", ""), ("callback_dst", None),
        ("callback_error_type", "kafka"), ("callback_error_dst", 7),
    ],
)  # fmt: skip
def test_a_callback_that_cannot_be_sent_is_refused(classic: Client, field: str, value: Any) -> None:
    body = TYPED | {"callback_error_dst": "https://b.example/"} | {field: value}
    status, text = send(classic, body)
    assert (status, field in text) == (400, True)
    assert inspect.jobs().rows == ()


@pytest.mark.parametrize("field", ["url", "aggr_id", "aggr_limit", "callback_type", "callback_dst"])
def test_a_needed_field_is_missed(classic: Client, field: str) -> None:
    assert send(classic, {name: value for name, value in TYPED.items() if name != field})[0] == 400
    assert inspect.jobs().rows == ()


@for_each("body", [b"", b"{", b"[]", b'"x"', b"\xff", b"null", b'{"aggr_limit": 1e999}'])
def test_a_body_that_is_no_object_is_refused(classic: Client, body: bytes) -> None:
    assert send(classic, body)[0] == 400


def test_an_extra_of_another_type_is_dropped(classic: Client) -> None:
    id = json.loads(send(classic, GOOD | {"extra": {"order": 7}})[1])["id"]
    found = inspect.task(id)
    assert found is not None
    assert '"extra":""' in found.args_json.replace(" ", "")


def test_a_dead_callback_is_sent_again(classic: Client, settings: Any, handler: Register) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": settings.QUEUEOPS["JOBS"] | LOCAL}
    handler(lambda job: None)
    with serving({"/gone": lambda exchange: exchange.answer(410, b"")}) as target:
        job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/gone"))
        run_worker()
    assert send(classic, b"", f"retry/{job.id}") == (204, "")
    assert send(classic, b"", f"retry/{job.id}") == (400, "The job has no callback that has failed.\n")
    assert send(classic, b"", "retry/unknown")[0] == send(classic, b"", "retry/")[0] == 400


def test_the_heartbeat_tells_of_the_maintenance(classic: Client, settings: Any) -> None:
    def beat() -> tuple[int, bytes]:
        response = classic.get("/hb")
        return response.status_code, response.content

    assert beat() == (200, b"OK")
    control.start_maintenance("new disks")
    assert beat() == (503, b"Service disabled, the maintenance is on!\n")
    assert send(classic, GOOD)[0] == 201
    control.stop_maintenance()
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": "unix:///nowhere/valkey.sock"}
    assert beat()[0] == 503
    assert send(classic, GOOD)[0] == 500


PROCESSOR = (
    "alive", "workers", "workerPools", "failures", "invalidProxies", "reaperFailures", "reaperSuccessfulDeletions",
)  # fmt: skip
NOTIFIER = (
    "alive", "successfulCallbacks", "failedCallbacks", "undefinedBackendWithCallback", "unknownTopicOrPartition",
)  # fmt: skip


def test_statistics_and_aggregations_have_the_old_names(classic: Client) -> None:
    for aggr_id in ("a", "a", "b"):
        send(classic, GOOD | {"aggr_id": aggr_id})
    response = classic.get("/dashboard/aggregations")
    assert sorted(response.json(), key=str) == [{"name": "jobs:a", "size": 2}, {"name": "jobs:b", "size": 1}]
    assert response["Access-Control-Allow-Origin"] == "*"
    assert classic.get("/stats/processor").json() == dict.fromkeys(PROCESSOR, 0)
    notifier = classic.get("/stats/notifier")
    assert notifier.json() == dict.fromkeys(NOTIFIER, 0)
    assert notifier["Access-Control-Allow-Origin"] == "*"
    assert classic.get("/stats/other").status_code == 404


@pytest.mark.parametrize("path", ["/hb", "/stats/processor", "/dashboard/aggregations"])
def test_head_is_a_get_without_its_body(classic: Client, path: str) -> None:
    head = classic.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert int(head["Content-Length"]) == len(classic.get(path).content)


@pytest.mark.parametrize("path", ["/download", "/retry/x"])
def test_another_method_is_not_allowed(classic: Client, path: str) -> None:
    for response in (classic.get(path), classic.head(path)):
        assert (response.status_code, response["Allow"]) == (405, "POST")


def test_without_the_setting_a_token_is_needed(classic: Client, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"API_BODY_LIMIT": 5000}}
    assert send(classic, GOOD)[0] == 401
    assert classic.get("/stats/processor").status_code == 401
    assert classic.get("/hb").status_code == 200
    assert send(sent_by(classic, "shop"), GOOD)[0] == 201
    assert send(sent_by(classic, "viewer"), GOOD)[0] == 403


def test_read_only_and_a_large_body_are_refused(classic: Client, settings: Any) -> None:
    assert send(classic, GOOD | {"extra": "x" * 5000})[0] == 413
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}
    assert send(classic, GOOD)[0] == 403
