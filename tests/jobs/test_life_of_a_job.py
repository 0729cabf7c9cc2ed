"""What the original system did with a job, from the push to the callback, as ours does it."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops import control, inspect, jobs
from queueops.jobs import Job
from queueops.kinds.jobs.files.file_store import delete_file, file_name
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL, Names, Register
from tests.jobs.servers import Exchange, LocalServer, serving
from tests.jobs.test_file_types import picture
from tests.jobs.test_http_client import CERTIFICATE
from tests.jobs.world import end_back_off
from tests.kernel.desk import Desk


@pytest.fixture
def world(namespace: str, settings: Any, tmp_path: Path) -> Iterator[LocalServer]:
    """A server of files, which takes callbacks at /told."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"PARTIAL_DIRECTORY": str(tmp_path / "partial")}}
    settings.MEDIA_ROOT = str(tmp_path / "media")
    with serving({"/told": lambda exchange: exchange.answer(204)}) as server:
        yield server


@pytest.fixture
def desk(world: LocalServer) -> Desk:
    return Desk(get_broker())


def answers(*statuses: int) -> Any:
    """A route that gives these answers, one after the other; the last one stays. A 200 has a text."""
    left = list(statuses)

    def route(exchange: Exchange) -> None:
        status = left.pop(0) if len(left) > 1 else left[0]
        exchange.answer(status, b"content" if status == 200 else b"")

    return route


def told(world: LocalServer) -> list[dict[str, Any]]:
    return [json.loads(asked.body) for asked in world.asked if asked.path == "/told"]


def run_to_the_end() -> None:
    """All attempts, without their delays."""
    end_back_off()
    while run_worker():
        end_back_off()


def test_ids_that_are_made_by_many_threads_differ(desk: Desk) -> None:
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda: ids.append(jobs.submit(aggregation="a", handler="work").id)) for _ in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 50
    assert {len(id) for id in ids} == {26}


def test_a_job_without_any_option_has_a_status_and_a_story(desk: Desk) -> None:
    job = jobs.submit(aggregation="a", handler="work")
    detail = inspect.task(job.id)
    assert detail is not None
    assert (job.state, detail.name) == ("pending", "work")
    assert inspect.job_story(detail).callbacks == ()


def test_a_handler_gets_what_was_handed_in(world: LocalServer, handler: Register) -> None:
    seen: list[Job] = []
    handler(lambda job: seen.append(job))
    options = {"headers": {"X-Key": "é"}, "nested": [1, 2.5, None, True]}
    given: Any = {"aggregation": "a b", "url": "https://a.example/?q=1", "extra": '{"n": "1"}', "options": options}
    job = jobs.submit(handler="work", **given)
    run_worker()
    assert seen == [Job(id=job.id, attempt=1, **given)]


def test_a_job_that_waits_is_claimed_under_its_id(desk: Desk) -> None:
    job = jobs.submit(aggregation="a", handler="work")
    assert job.state == "pending"
    assert [lease.id for lease in desk.claim()] == [job.id]
    assert desk.claim() == []


def test_a_dead_callback_that_is_sent_again_has_all_attempts_before_it(world: LocalServer, handler: Register) -> None:
    world.routes["/told"] = answers(503, 410)
    handler(lambda job: None)
    jobs.submit(aggregation="a", handler="work", callback_url=world.url("/told"))
    run_to_the_end()
    (dead,) = inspect.callbacks("dead").rows
    assert dead.attempt == 2
    control.redeliver_callbacks([dead.id])
    (waiting,) = inspect.callbacks("pending").rows
    assert (waiting.id, waiting.attempt) == (dead.id, 0)


def test_an_aggregation_that_was_never_used_is_not_there(desk: Desk) -> None:
    jobs.submit(aggregation="a", handler="work")
    assert inspect.aggregation("b") is None
    assert [row.id for row in inspect.aggregations().rows] == ["a"]


def test_a_live_lease_is_respected_and_an_expired_one_is_taken(desk: Desk) -> None:
    job = jobs.submit(aggregation="a", handler="work", limit=1)
    first = desk.lease()
    assert desk.claim() == []
    desk.expire(job.id)
    control.run_now([job.id])
    second = desk.lease()
    assert (second.id, second.fence > first.fence) == (job.id, True)
    assert desk.settle(first, Outcome.SUCCESS) == "STALE"
    assert desk.settle(second, Outcome.SUCCESS) == "OK"


def test_a_wrong_certificate_ends_the_job_at_once(world: LocalServer, tmp_path: Path) -> None:
    subprocess.run(CERTIFICATE.split(), cwd=tmp_path, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with serving({"/": answers(200)}, tls=tls) as server:
        job = jobs.submit(aggregation="a", url=server.url(), callback_url=world.url("/told"))
        run_to_the_end()
    assert (job.state, server.asked) == ("failed", [])
    (body,) = told(world)
    assert "certificate" in body["error"]


def test_two_answers_of_a_server_in_trouble_and_then_a_file(world: LocalServer) -> None:
    world.routes["/file"] = answers(500, 503, 200)
    job = jobs.submit(aggregation="a", url=world.url("/file"), callback_url=world.url("/told"))
    run_worker()
    detail = inspect.task(job.id)
    assert detail is not None
    assert (job.state, detail.attempt, told(world)) == ("restart", 1, [])
    run_to_the_end()
    (body,) = told(world)
    assert (job.state, body["success"], body["response_code"]) == ("succeeded", True, 200)


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2)])
def test_a_job_has_as_many_attempts_as_it_was_given(world: LocalServer, retries: int, attempts: int) -> None:
    world.routes["/file"] = answers(500)
    job = jobs.submit(aggregation="a", url=world.url("/file"), callback_url=world.url("/told"), retries=retries)
    run_to_the_end()
    assert job.state == "failed"
    assert sum(asked.path == "/file" for asked in world.asked) == attempts
    (body,) = told(world)
    assert (body["success"], body["response_code"], body["download_url"]) == (False, 500, "")


def test_a_file_is_deleted_whether_it_is_there_or_not(world: LocalServer, tmp_path: Path) -> None:
    world.routes["/file"] = answers(200)
    job = jobs.submit(aggregation="a", url=world.url("/file"))
    run_to_the_end()
    path = job.result(timeout=1)["path"]
    assert (tmp_path / "media" / path).exists()
    delete_file(path)
    delete_file(path)
    assert not (tmp_path / "media" / path).exists()


def test_a_job_whose_aggregation_lost_its_settings_still_runs(world: LocalServer, handler: Register) -> None:
    handler(lambda job: "done")
    job = jobs.submit(aggregation="a", handler="work", limit=1)
    broker = get_broker()
    broker.client.delete(f"{broker.keys('default').lane('aggr:a')}#conf")
    assert (run_worker(), job.state) == (1, "succeeded")


def test_a_body_that_comes_byte_by_byte_has_its_type(world: LocalServer) -> None:
    def drips(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("Content-Length", "24")
        exchange.end_headers()
        for byte in b"\x89PNG\r\n\x1a\n" + bytes(16):
            exchange.wfile.write(bytes([byte]))
            exchange.wfile.flush()

    world.routes["/file"] = drips
    job = jobs.submit(aggregation="a", url=world.url("/file"), options={"mime_type": "image/png"})
    run_to_the_end()
    assert job.result(timeout=1)["mime_type"] == "image/png"


def test_a_wrong_type_is_told_by_the_callback(world: LocalServer) -> None:
    world.routes["/file"] = answers(200)
    given = {"options": {"mime_type": "image/*"}, "callback_url": world.url("/told")}
    job = jobs.submit(aggregation="a", url=world.url("/file"), **given)
    run_to_the_end()
    (body,) = told(world)
    assert (job.state, body["success"], body["download_url"]) == ("failed", False, "")
    assert "text/plain" in body["error"]
    assert sum(asked.path == "/file" for asked in world.asked) == 1


def test_the_file_is_identical_and_the_callback_has_every_field(
    world: LocalServer, settings: Any, tmp_path: Path
) -> None:
    own = settings.QUEUEOPS["JOBS"] | {"DOWNLOAD_URL": "https://files.example"}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    body = picture("PNG", (10, 10)) + bytes(range(256)) * 300
    world.routes["/file"] = lambda exchange: exchange.answer(200, body)
    given = {"options": {"extract_image_size": True}, "callback_url": world.url("/told"), "extra": '{"order": 7}'}
    job = jobs.submit(aggregation="a", url=world.url("/file"), **given)
    run_to_the_end()
    path = file_name(job.id)
    assert (tmp_path / "media" / path).read_bytes() == body
    assert told(world) == [
        {
            "success": True,
            "error": "",
            "extra": '{"order": 7}',
            "image_size": "10x10",
            "resource_url": world.url("/file"),
            "download_url": f"https://files.example/{path}",
            "job_id": job.id,
            "response_code": 200,
            "result": job.result(timeout=1),
            "delivered": True,
            "delivery_error": "",
        }
    ]


@pytest.mark.parametrize("mime_type", ["", "application/pdf"])
def test_a_file_that_is_no_picture_has_no_size_and_is_stored(world: LocalServer, mime_type: str) -> None:
    world.routes["/file"] = lambda exchange: exchange.answer(200, b"%PDF-1.7\n1 0 obj")
    options = {"extract_image_size": True, "mime_type": mime_type}
    job = jobs.submit(aggregation="a", url=world.url("/file"), callback_url=world.url("/told"), options=options)
    run_to_the_end()
    (body,) = told(world)
    assert (job.state, body["success"], body["image_size"]) == ("succeeded", True, "")
    assert body["result"]["mime_type"] == "application/pdf"


def test_a_body_that_ends_early_fails_the_job_at_last_with_that_reason(world: LocalServer) -> None:
    def breaks_off(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.answer(200, b"content", Content_Length="99", Connection="close")

    world.routes["/file"] = breaks_off
    given = {"options": {"mime_type": "image/*"}, "callback_url": world.url("/told"), "retries": 1}
    job = jobs.submit(aggregation="a", url=world.url("/file"), **given)
    run_to_the_end()
    (body,) = told(world)
    assert (job.state, body["success"], body["download_url"]) == ("failed", False, "")
    assert "The body ended after 7 bytes, before it was complete" in body["error"]
    assert "mime" not in body["error"]
    assert sum(asked.path == "/file" for asked in world.asked) == 2


def test_a_download_goes_through_the_proxy_of_its_aggregation(world: LocalServer, names: Names) -> None:
    names("files.example", "127.0.0.1")
    url = "http://files.example/a"
    with serving({url: answers(200)}) as proxy, serving({url: answers(200)}) as other:
        made = [
            jobs.submit(aggregation="a", url=url, options={"proxy": each.url()} if each else {})
            for each in (proxy, other, None)
        ]
        run_to_the_end()
        assert [job.state for job in made] == ["succeeded"] * 3
        assert ([asked.path for asked in proxy.asked], other.asked) == ([url] * 3, [])
