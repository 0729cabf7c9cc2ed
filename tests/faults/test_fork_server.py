"""Forked starts: what the tests see of a process is the same whether the fork server or an exec has started it."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.faults.conftest import Bench
from tests.faults.processes import Worker
from tests.support import fork_server, leaks
from tests.support.fork_server import ForkServer

pytestmark = pytest.mark.faults
WAYS = pytest.mark.parametrize("server", [fork_server.shared, None], ids=["a fork", "an exec"])


@WAYS
def test_each_worker_has_the_settings_and_arguments_of_its_start(bench: Bench, server: ForkServer | None) -> None:
    bench.server = server
    for pool in ("one", "two"):
        worker = bench.worker("--pool", pool, "--burst", POOLS={pool: {}})
        assert worker.wait() == 0
        assert f"pools {pool}\n" in worker.text()


@WAYS
def test_its_status_tells_an_orderly_end_an_error_and_a_signal(bench: Bench, server: ForkServer | None) -> None:
    bench.server = server
    worker = bench.worker()
    worker.child()
    assert worker.popen.poll() is None
    assert worker.stop() == 0
    assert bench.worker("--threads", "no number").wait() == 2
    killed = bench.worker()
    killed.signal_all(signal.SIGKILL)
    assert killed.wait() == killed.popen.returncode == -signal.SIGKILL


@WAYS
def test_the_leak_check_finds_a_worker_that_is_left_behind(bench: Bench, server: ForkServer | None) -> None:
    bench.server = server
    before = leaks.running()[0]
    worker = bench.worker()
    found = {worker.child(), worker.pid}
    assert leaks.running()[0] - before == found
    assert worker.stop() == 0


def test_both_have_the_same_session_signals_files_and_directory(bench: Bench) -> None:
    seen = []
    for server in (fork_server.shared, None):
        bench.server = server
        worker = bench.worker()
        worker.child()
        seen.append(_traits(worker))
        assert worker.stop() == 0
    assert seen[0] == seen[1]


def _signals(worker: Worker) -> dict[str, str]:
    """The masks of blocked, ignored and caught signals."""
    return dict(re.findall(r"^(Sig(?:Blk|Ign|Cgt)):\t(\w+)$", Path(f"/proc/{worker.pid}/status").read_text(), re.M))


def _traits(worker: Worker) -> dict[str, object]:
    process = Path(f"/proc/{worker.pid}")
    links = {int(file.name): str(file.readlink()) for file in (process / "fd").iterdir()}
    files = [re.sub(r"\d+", "", Path(links[number]).name) for number in sorted(links)]
    leader = worker.pid == os.getsid(worker.pid) == os.getpgid(worker.pid)
    return {"leader": leader, "signals": _signals(worker), "files": files, "directory": (process / "cwd").readlink()}
