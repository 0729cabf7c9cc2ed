"""Jobs that download: handed in, run by a worker, stored, and told by the callback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops import TaskFailed, control, inspect, jobs
from queueops.errors import BadOption, UnknownOption
from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.inspect.errors import Failure
from queueops.jobs import Job
from queueops.kinds.jobs.files.file_store import file_name
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import LocalServer, serving
from tests.support.for_each import for_each


@pytest.fixture
def files(namespace: str, settings: Any, tmp_path: Path) -> Iterator[LocalServer]:
    """A server of files that takes callbacks, too."""
    own = LOCAL | {"PARTIAL_DIRECTORY": str(tmp_path / "partial"), "DOWNLOAD_URL": "https://files.example/jobs/"}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    settings.MEDIA_ROOT = str(tmp_path / "media")
    routes = {
        "/a.txt": lambda exchange: exchange.answer(200, b"content"),
        "/busy": lambda exchange: exchange.answer(503, Retry_After="300"),
        "/told": lambda exchange: exchange.answer(200),
    }
    with serving(routes) as server:
        yield server


def told(files: LocalServer) -> dict[str, Any]:
    (asked,) = [asked for asked in files.asked if asked.path == "/told"]
    found: dict[str, Any] = json.loads(asked.body)
    return found


def test_a_job_without_a_handler_is_a_download(files: LocalServer, tmp_path: Path) -> None:
    url = files.url("/a.txt")
    job = jobs.submit(aggregation="a", url=url, callback_url=files.url("/told"), options={"subpath": "shop"})
    assert run_worker() == 2
    path = f"shop/{file_name(job.id)}"
    assert (tmp_path / "media" / path).read_bytes() == b"content"
    assert job.result(timeout=1) == {
        "path": path,
        "size": 7,
        "mime_type": "text/plain",
        "image_size": "",
        "response_code": 200,
    }
    body = told(files)
    assert (body["success"], body["download_url"], body["response_code"]) == (
        True,
        f"https://files.example/jobs/{path}",
        200,
    )


def test_a_permanent_failure_ends_the_job_and_is_told(files: LocalServer) -> None:
    job = jobs.submit(aggregation="a", url=files.url("/none"), callback_url=files.url("/told"))
    run_worker()
    with pytest.raises(TaskFailed, match=r"HTTP 404: The download failed \(status\)\. The answer has the status 404\."):
        job.result(timeout=1)
    body = told(files)
    assert (body["success"], body["response_code"], body["download_url"]) == (False, 404, "")
    assert [asked.path for asked in files.asked] == ["/none", "/told"]


def test_the_url_of_a_file_is_that_of_the_time_when_its_callback_is_sent(files: LocalServer, settings: Any) -> None:
    job = jobs.submit(aggregation="a", url=files.url("/a.txt"), callback_url=files.url("/told"))
    files.routes["/told"] = lambda exchange: exchange.answer(503)
    run_worker()
    own = settings.QUEUEOPS["JOBS"] | {"DOWNLOAD_URL": "https://new.example"}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    files.asked.clear()
    (callback,) = inspect.job_story(inspect.task(job.id)).callbacks
    control.run_now([callback.id])
    run_worker()
    path = job.result(timeout=1)["path"]
    assert told(files)["download_url"] == f"https://new.example/{path}"
    assert f"https://new.example/{path}" in inspect.callback_body(callback.id)


@pytest.mark.parametrize(
    ("options", "own", "status", "kind"),
    [
        ({"mime_type": "image/*"}, {}, 200, "mime"),
        ({}, {"MAX_SIZE": 3}, 200, "size"),
        ({"extract_image_size": True}, {}, 200, "image-size"),
        ({}, {}, 404, "status"),
    ],
)
def test_a_failure_tells_the_true_code_of_the_answer(
    files: LocalServer, settings: Any, options: dict[str, Any], own: dict[str, Any], status: int, kind: str
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": settings.QUEUEOPS["JOBS"] | own}
    body = b"\xff\xd8\xff\xe0 no picture" if kind == "image-size" else b"content"
    files.routes["/x"] = lambda exchange: exchange.answer(status, body)
    job = jobs.submit(aggregation="a", url=files.url("/x"), callback_url=files.url("/told"), options=options)
    run_worker()
    assert f"({kind})" in (inspect.task(job.id).error or Failure()).message
    assert (told(files)["success"], told(files)["response_code"]) == (False, status)


def test_the_next_attempt_waits_as_long_as_the_answer_says(files: LocalServer) -> None:
    job = jobs.submit(aggregation="a", url=files.url("/busy"))
    run_worker()
    found = inspect.task(job.id)
    assert (found.state, found.attempt) == ("restart", 1)
    assert 290_000 < (found.due_ms or 0) - found.entered_ms <= 300_000


@for_each(
    ("url", "options", "error", "said"),
    [
        ("", {}, AddressRefused, "it has 0 characters"),
        ("http://10.0.0.1/", {}, AddressRefused, "10.0.0.1 is private"),
        ("http://a.example/", {"proxy": "socks5://a.example"}, AddressRefused, "The proxy socks5://a.example"),
        ("http://a.example/", {"subpath": "../x"}, BadOption, "The option subpath"),
        ("http://a.example/", {"mime_type": "image/["}, BadOption, "The option mime_type"),
        ("http://a.example/", {"mime_type": "image"}, BadOption, '"image/*" instead of "image"'),
        ("http://a.example/", {"mime_type": 7}, BadOption, "The option mime_type"),
        ("http://a.example/", {"download_timeout": 0}, BadOption, "The option download_timeout"),
        ("http://a.example/", {"download_timeout": "4"}, BadOption, "The option download_timeout"),
        ("http://a.example/", {"extract_image_size": 1}, BadOption, "The option extract_image_size"),
        ("http://a.example/", {"request_headers": {"X": "a\r\nb"}}, HeaderRefused, "a line break"),
        ("http://a.example/", {"subpaht": "x"}, UnknownOption, "did you mean 'subpath'?"),
    ],
)
def test_a_wrong_option_is_refused_when_the_job_is_handed_in(
    files: LocalServer, url: str, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as refused:
        jobs.submit(aggregation="a", url=url, options=options)
    assert said in str(refused.value)
    assert inspect.aggregations().rows == ()


def test_a_handler_of_the_project_with_the_same_name_wins(files: LocalServer) -> None:
    seen: list[Job] = []

    def own(job: Job) -> None:
        seen.append(job)

    jobs.job_handler("download")(own)
    try:
        jobs.submit(aggregation="a", url="any text", options={"depth": 2})
        assert run_worker() == 1
    finally:
        registry.unregister("job", "download")
    assert [(job.url, job.options) for job in seen] == [("any text", {"depth": 2})]
    assert files.asked == []
