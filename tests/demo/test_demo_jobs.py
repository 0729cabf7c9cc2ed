"""The demo's jobs: a sample server that is slow, flaky and not honest, so that every state is seen."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from queueops import inspect, jobs
from queueops.testing import run_worker
from queueops_demo import job_mix, sample_server
from tests.jobs.conftest import LOCAL
from tests.jobs.world import count_callbacks, count_jobs


@contextmanager
def serving(data: Path) -> Iterator[sample_server.SampleServer]:
    server = sample_server.start(data)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def data(namespace: str, settings: Any, tmp_path: Path) -> Path:
    settings.DATA, settings.MEDIA_ROOT = tmp_path, str(tmp_path / "media")
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"PARTIAL_DIRECTORY": str(tmp_path / "partial")}}
    return tmp_path


def test_the_server_keeps_its_address_unless_it_is_taken(data: Path) -> None:
    assert sample_server.address(data) == ""
    with serving(data):
        first = sample_server.address(data)
    with serving(data):
        assert sample_server.address(data) == first
        (data / "other").mkdir()
        (data / "other" / "sample-server.port").write_text(first.rpartition(":")[2])
        with serving(data / "other"):
            assert sample_server.address(data / "other") != first


def test_each_source_and_each_target_answers_as_it_should(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_server.random, "uniform", lambda *_: 0.0)
    monkeypatch.setattr(sample_server.random, "random", lambda: 0.5)
    with serving(data):
        base = sample_server.address(data)
        found = {path: _status(f"{base}/{path}/1") for path in ("pictures", "slow", "flaky", "liar", "missing")}
        told = {path: _status(f"{base}/{path}/1", b"{}") for path in ("told", "slow", "flaky", "gone")}
    assert found == {"pictures": 200, "slow": 200, "flaky": 503, "liar": 200, "missing": 404}
    assert told == {"told": 202, "slow": 202, "flaky": 503, "gone": 410}


def test_jobs_of_all_shops_come_to_different_ends(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_server.random, "uniform", lambda *_: 0.0)
    with serving(data):
        base = sample_server.address(data)
        ways = [(shop, path) for shop in job_mix.SHOPS for path in dict.fromkeys(shop.paths)]
        handed_in = {
            path: jobs.submit(**job_mix.job_of(shop, path, base, 10 * number + 1))
            for number, (shop, path) in enumerate(ways)
        }
        run_worker()
        found = {path: handle.state for path, handle in handed_in.items()}
    assert {path: found[path] for path in ("pictures", "missing", "liar", "astray", "torn")} == {
        "pictures": "succeeded",
        "missing": "failed",
        "liar": "failed",
        "astray": "failed",
        "torn": "restart",
    }
    assert count_jobs()["succeeded"] >= 2
    assert set(count_callbacks()) >= {"succeeded", "failed", "restart"}
    job_mix.send_again()
    (again,) = inspect.callbacks("scheduled").rows
    assert again.url.split("/")[3] == "gone"


def test_the_mix_hands_in_a_job_each_three_seconds_and_gives_something_up_each_minute(data: Path) -> None:
    mix, now = job_mix.JobMix(), time.monotonic()
    mix.push_due(now)
    assert count_jobs() == Counter()  # the server has not started
    (data / "sample-server.port").write_text("9\n")
    old = data / "media" / "old"
    old.parent.mkdir()
    old.write_text("x")
    for number in range(30):
        mix.push_due(now + 3 * number)
        mix.push_due(now + 3 * number + 1)
    assert (count_jobs().total(), count_jobs()["cancelled"]) == (30, 1)
    assert old.exists()
    job_mix.delete_old_files(data / "media", time.time() + 1)
    assert not old.exists()


def _status(url: str, body: bytes | None = None) -> int:
    try:
        with urllib.request.urlopen(url, body, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
