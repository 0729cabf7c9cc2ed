"""Workers as containers and old launchers start them: as process 1, without streams; and signals out of habit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import psutil
import pytest

from tests.faults import hogs, tasks
from tests.faults.conftest import Bench
from tests.faults.processes import Worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
PROCESS_1 = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
SUBREAPER = "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1); os.execv(sys.argv[1], sys.argv[1:])"


@cache
def is_permitted() -> bool:
    """Whether this user may make a namespace of processes."""
    return bool(shutil.which("unshare")) and subprocess.run([*PROCESS_1, "true"], capture_output=True).returncode == 0


def supervisor_of(worker: Worker, launcher: tuple[str, ...]) -> psutil.Process:
    outer = psutil.Process(worker.pid)
    return wait_until(outer.children)[0] if launcher == PROCESS_1 else outer


def zombies(supervisor: psutil.Process) -> list[psutil.Process]:
    return [child for child in supervisor.children() if child.status() == psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("launcher", [PROCESS_1, (sys.executable, "-c", SUBREAPER)], ids=["process 1", "subreaper"])
def test_a_worker_to_which_orphans_come_leaves_no_zombies(bench: Bench, launcher: tuple[str, ...]) -> None:
    if launcher == PROCESS_1 and not is_permitted():
        pytest.skip("this user may not make a namespace of processes")
    worker = bench.worker("--processes", "2", launcher=launcher)
    bench.wait([hogs.leave_grandchild.push() for _ in range(20)])
    supervisor = supervisor_of(worker, launcher)
    wait_until(lambda: not zombies(supervisor), 20, lambda: zombies(supervisor))
    supervisor.children()[0].kill()
    wait_until(lambda: "ended: SIGKILL" in worker.text(), say=worker.text)  # the status of its own was not lost
    bench.wait([tasks.work.push()])
    supervisor.send_signal(signal.SIGTERM)
    assert worker.wait() == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_worker_runs_without_standard_streams(bench: Bench, closed: str) -> None:
    worker = bench.worker(launcher=("sh", "-c", f'exec "$@" {closed}', "sh"))
    bench.wait([tasks.work.push()])
    child = psutil.Process(worker.pid).children()[0]
    opened = [str(Path(f"/proc/{child.pid}/fd/{number}").readlink()) for number in range(3)]
    assert not [target for target in opened if target.startswith(("socket:", "anon_inode:"))], opened
    assert worker.stop() == 0


def test_sigusr1_logs_the_stacks_and_the_worker_goes_on(bench: Bench) -> None:
    worker = bench.worker("--threads", "2", "--processes", "2")
    bench.ledger.close("gate")
    handle = tasks.wait_at_gate.push("gate")
    bench.started(handle)
    worker.signal(signal.SIGUSR1)
    wait_until(lambda: "in wait_at_gate" in worker.text(), say=worker.text)
    wait_until(lambda: all(f"Stacks of process {pid} " in worker.text() for pid in worker.children()), say=worker.text)
    for child in worker.children():  # as by a signal to all processes of a service
        os.kill(child, signal.SIGUSR1)
    bench.ledger.open("gate")
    bench.wait([handle])
    assert worker.stop() == 0
    assert "ended: SIG" not in worker.text()
