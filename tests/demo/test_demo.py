"""The demo as a stranger meets it: one command, real processes, real work."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops import get, inspect
from queueops.inspect import LogLine
from queueops.redis import embedded
from queueops.redis.broker import forget_brokers
from queueops_demo.tasks import failing, waiting
from tests.support.playing import Playing, Visitor
from tests.support.waiting import wait_until

Play = Callable[..., Playing]

pytestmark = pytest.mark.faults


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Start a demo in the test's directory; whatever happens, nothing of it is left afterwards."""
    started: list[Playing] = []

    def start(*options: str, port: int = 0) -> Playing:
        started.append(Playing(tmp_path / "data", *options, port=port))
        return started[-1]

    yield start
    for demo in started:
        demo.clear()
    forget_brokers()


def test_a_demo_plays_loses_nothing_with_its_workers_and_finds_its_data_again(play: Play, settings: Any) -> None:
    demo = play("--rate", "4")
    demo.introduce()
    settings.QUEUEOPS = {"URL": demo.server_url()}
    forget_brokers()
    failing.look_up_price.push("spoon")
    waiting.remind.postpone(3600, "tea")
    _log_in(demo)
    _ask_api(demo)
    states = wait_until(_all_of("succeeded", "failed", "postponed"), say=lambda: f"{inspect.snapshot().states}")

    waiting.take_a_nap.using(id="nap").push(6)
    nap = get("nap")
    assert nap is not None
    wait_until(lambda: _log_of("nap"), say=lambda: nap.status())  # it sleeps: a start, not only a claim
    workers = demo.processes("runworker")
    children = [process for process in workers if process.parent() in workers]
    assert len(children) == 2
    for child in children:
        child.kill()
    assert nap.result(timeout=60) == "rested"
    status = nap.status()
    assert status is not None
    (lost,) = [line.text for line in _log_of("nap") if line.kind == "crash"]
    assert "its worker process died: SIGKILL" in lost
    ran_alone = "others ran in it too" not in lost  # only then its crash counts
    assert (status.crashes, status.attempt) == (int(ran_alone), 0)

    demo.process.terminate()
    assert demo.wait() == 0
    assert demo.left() == []
    assert {(demo.data / name).stat().st_mode & 0o777 for name in ("password", "api-token")} == {0o600}

    forget_brokers()
    again = play("--rate", "0")
    again.introduce()
    assert (again.user, again.password, again.token) == (demo.user, demo.password, demo.token)
    nap_then = get("nap")
    assert nap_then is not None
    assert nap_then.state == "succeeded"
    assert inspect.snapshot().states["succeeded"] >= states["succeeded"]
    _log_in(again)
    again.interrupt()
    assert again.wait() == 0
    assert "ending; tasks may take 5 s, Ctrl-C again ends at once" in again.news()
    assert again.left() == []


def test_a_part_that_dies_and_a_demo_that_is_killed_start_again_and_a_second_demo_is_refused(play: Play) -> None:
    demo = play("--rate", "2")
    demo.introduce()
    second = play()
    assert second.wait() == 1
    assert "another demo runs in" in second.news()
    assert Visitor(demo.url).get("login/")[0] == 200
    wait_until(lambda: "thumbnails" in demo.terminal(), 60, demo.news)
    for name in ("queueops_demo.feeder", "watchdog", "runworker", "gunicorn"):
        demo.processes(name)[0].kill()
    again = ("feeder", "watchdog", "worker", "console")
    wait_until(lambda: all(f"{name} is started again" in demo.news() for name in again), say=demo.news)
    wait_until(lambda: Visitor(demo.url).get("login/")[0] == 200, say=demo.news)
    store = demo.data / "queueops"
    os.kill(embedded.status(store).pid, signal.SIGKILL)
    wait_until(lambda: "died, and is started again" in demo.news(), say=demo.news)
    wait_until(lambda: embedded.status(store).answers, say=demo.news)
    os.kill(demo.process.pid, signal.SIGKILL)
    demo.wait()
    wait_until(lambda: demo.left() == ["the server"], say=demo.left)  # it waits for the next one
    again = play("--duration", "0.1")
    again.introduce()
    assert again.wait() == 0
    assert again.left() == []


def test_sigterm_during_the_start_ends_it_in_order(play: Play) -> None:
    demo = play()
    wait_until(lambda: "starting in" in demo.news(), say=demo.news)
    demo.process.terminate()
    assert demo.wait() == 0
    assert demo.left() == []


def test_a_port_in_use_is_told_before_anything_is_started(play: Play) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        demo = play(port=port)
        assert demo.wait() == 1
    assert f"cannot listen on 127.0.0.1:{port}" in demo.news()
    assert [path.name for path in demo.data.iterdir()] == ["demo.lock"]


def _log_of(task_id: str) -> tuple[LogLine, ...]:
    """What a task and its lost starts have written."""
    found = inspect.task(task_id)
    return found.log if found else ()


def _log_in(demo: Playing) -> None:
    visitor = Visitor(demo.url)
    assert visitor.get("login/")[0] == 200
    status, _ = visitor.post("login/", username=demo.user, password=demo.password)
    assert status == 200
    status, page = visitor.get("demo/")
    assert status == 200
    assert "Set the pace" in page


def _ask_api(demo: Playing) -> None:
    """The page of the API answers, and a job is handed in with the token."""
    with urllib.request.urlopen(demo.api, timeout=60) as page:
        assert "swagger" in page.read().decode()
    job = {"aggr_id": "by hand", "handler": "unknown", "delay": 3600}
    headers = {"Authorization": f"Bearer {demo.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(demo.api.replace("/docs", "/jobs"), json.dumps(job).encode(), headers)
    assert wait_until(lambda: _status_of(request), say=demo.news) == 201


def _status_of(request: urllib.request.Request) -> int:
    """The status of an answer; 0 while its database is locked: then the body is not read, and the connection ends."""
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except OSError:
        return 0


def _all_of(*states: str) -> Callable[[], dict[str, int] | None]:
    """The snapshot's counts once there is a task in each of the states."""

    def counts() -> dict[str, int] | None:
        found = inspect.snapshot().states
        return dict(found) if all(found.get(state) for state in states) else None

    return counts
