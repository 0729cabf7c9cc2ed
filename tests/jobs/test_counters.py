"""Counters of jobs: what workers have seen of answers, callbacks and files, and the figures of the classic routes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from queueops import control, inspect, jobs
from queueops.kinds.jobs import counters
from queueops.kinds.jobs.callbacks import callback_senders
from queueops.kinds.jobs.file_calls import QueuedFile
from queueops.kinds.jobs.store import JobCalls
from queueops.redis import embedded
from queueops.redis.broker import close_brokers, get_broker, get_role
from queueops.testing import run_worker
from tests.faults.proxy import FaultProxy
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import Exchange, LocalServer, serving
from tests.jobs.test_classic import classic  # noqa: F401  a fixture


def break_off(exchange: Exchange) -> None:
    exchange.close_connection = True
    exchange.answer(200, b"content", Content_Length="99", Connection="close")


@pytest.fixture
def world(namespace: str, settings: Any, tmp_path: Path) -> Iterator[LocalServer]:
    """A server with a file, a page that is no picture, an answer that breaks off, and targets of callbacks."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"PARTIAL_DIRECTORY": str(tmp_path / "partial")}}
    settings.MEDIA_ROOT = str(tmp_path / "media")
    routes = {
        "/file": lambda exchange: exchange.answer(200, b"content"),
        "/short": break_off,
        "/busy": lambda exchange: exchange.answer(503),
        "/told": lambda exchange: exchange.answer(204),
        "/gone": lambda exchange: exchange.answer(410),
    }
    with serving(routes) as server:
        yield server


def submit(world: LocalServer, path: str, **more: Any) -> Any:
    return jobs.submit(aggregation="a", url=world.url(path), **{"retries": 0} | more)


def test_each_attempt_is_counted_by_its_answer_and_its_failure(world: LocalServer) -> None:
    submit(world, "/file")
    submit(world, "/file", options={"mime_type": "image/*"})
    submit(world, "/none")
    submit(world, "/short")
    again = submit(world, "/busy", retries=1)
    run_worker()
    control.run_now([again.id])
    run_worker()
    assert inspect.job_counts() == {
        "response.200": 3, "response.404": 1, "response.503": 2, "response.mime": 1, "response.body": 1,
    }  # fmt: skip


def test_a_proxy_that_is_refused_at_the_connection_is_counted(world: LocalServer, names: Any) -> None:
    names("proxy.example", "10.0.0.1")
    submit(world, "/file", options={"proxy": "http://proxy.example:3128"})
    run_worker()
    assert inspect.job_counts() == {"response.refused": 1, "proxy.refused": 1}


def test_callbacks_are_counted_when_they_are_delivered_or_dead(world: LocalServer, monkeypatch: Any) -> None:
    for target in ("/told", "/gone", "/busy"):
        submit(world, "/file", callback_url=world.url(target))
    run_worker()
    assert inspect.job_counts() == {"response.200": 3, "callback.delivered": 1, "callback.dead": 1}
    monkeypatch.setattr(callback_senders, "_senders", {})
    control.redeliver_callbacks([row.id for row in inspect.callbacks("dead").rows])
    run_worker()
    assert inspect.job_counts()["callback.no_sender"] == 1


def test_the_last_attempt_of_a_callback_is_the_end_of_it(world: LocalServer, settings: Any) -> None:
    own = settings.QUEUEOPS["JOBS"] | {"CALLBACK_RETRY": {"retries": 1, "delay": 0}}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    submit(world, "/file", callback_url=world.url("/busy"))
    run_worker()
    run_worker()
    assert [row.attempt for row in inspect.callbacks("dead").rows] == [2]
    assert inspect.job_counts()["callback.dead"] == 1


def test_deletions_are_counted(world: LocalServer, tmp_path: Path) -> None:
    job = submit(world, "/file")
    run_worker()
    path = job.result(timeout=1)["path"]
    (tmp_path / "media" / "abc" / "abcd" / "a").mkdir(parents=True)  # no file: its deletion fails
    queued = [(path, job.id), ("abc/abcd", "abcd"), ("other", "id")]
    get_role(JobCalls).queue_files("default", [QueuedFile(name, id, "operator") for name, id in queued])
    run_worker()
    found = inspect.job_counts()
    assert (found["file.deleted"], found["file.not_deleted"]) == (1, 1)


def test_counts_are_kept_while_the_store_does_not_answer(namespace: str, settings: Any) -> None:
    right = settings.QUEUEOPS
    settings.QUEUEOPS = right | {"URL": "unix:///nowhere/valkey.sock"}
    counters.count("default", counters.DELETED, by=2)
    counters.flush()
    settings.QUEUEOPS = right
    counters.count("default", counters.DELETED)
    counters.flush()
    assert inspect.job_counts() == {"file.deleted": 3}


def test_counts_whose_answer_was_lost_are_sent_again_and_count_once(
    namespace: str, settings: Any, store: embedded.Server, tmp_path: Path
) -> None:
    proxy = FaultProxy(store.socket, tmp_path / "proxy.sock")
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": f"unix://{proxy.path}"}
    sums = counters.Sums()  # of no worker that another test has left behind in this process
    try:
        sums.add("default", (counters.DELIVERED,), by=1)
        sums.flush()
        sums.add("default", (counters.DELIVERED,), by=2)
        proxy.lose_replies(1)
        sums.flush()
        assert proxy.cut == 1
        sums.add("default", (counters.DELIVERED, counters.DEAD), by=1)
        sums.flush()
        assert inspect.job_counts() == {"callback.delivered": 4, "callback.dead": 1}
        broker = get_broker()
        (noted,) = broker.client.keys(f"{broker.keys('default').prefix}:counted:*")
        assert 0 < broker.client.ttl(noted) <= 86_400
    finally:
        close_brokers()
        proxy.close()


def test_threads_lose_no_count(namespace: str) -> None:
    def many() -> None:
        for _ in range(500):
            counters.count("default", counters.DELIVERED)
            counters.flush()

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counters.flush()
    assert inspect.job_counts() == {"callback.delivered": 2000}


def test_the_classic_statistics_have_the_counters_under_their_old_names(
    world: LocalServer,
    classic: Client,  # noqa: F811
    settings: Any,
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"CLASSIC_OPEN": True}}
    submit(world, "/file", callback_url=world.url("/told"))
    submit(world, "/file", callback_url=world.url("/gone"), options={"mime_type": "image/*"})
    submit(world, "/none")
    run_worker()
    processor, notifier = (classic.get(f"/stats/{part}").json() for part in ("processor", "notifier"))
    assert {name: number for name, number in processor.items() if number} == {
        "download.response.200": 2, "download.response.404": 1, "download.response.mime": 1,
    }  # fmt: skip
    assert {name: number for name, number in notifier.items() if number} == {
        "successfulCallbacks": 1, "failedCallbacks": 1,
    }  # fmt: skip
