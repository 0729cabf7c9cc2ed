"""What a test must not leave behind: a process, or a thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

from queueops.testing import eager_store

PATIENCE = 60.0  # seconds for what is ending to end, on a machine with much to do
# Threads that a process has once and keeps: each is a daemon, and its name says whose it is.
KEPT = ("queueops-waiting", "queueops-events", "asyncio_", "ThreadPoolExecutor", "asgiref")

kept: set[int] = set()
"""Ids of child processes that the tests share: these may start and end processes of their own at any time."""

servers: set[int] = set()
"""Ids of child processes that the tests share, and that start processes for single tests."""


def running() -> tuple[set[int], set[threading.Thread]]:
    """The child processes and the threads of this process that run now."""
    found: set[int] | None = None
    while found != (again := set(_below(os.getpid()))):  # a list misses a process where another one ends meanwhile
        found = again
    return again, set(threading.enumerate())


def _below(pid: int) -> Iterator[int]:
    """The ids of all processes below this one, without those below `kept`; `psutil` reads all of the machine."""
    for child in _children(pid):
        if child not in kept:
            if child not in servers:
                yield child
            yield from _below(child)


def _children(pid: int) -> list[int]:
    """The ids of the child processes. Each test asks several times: `Path.glob` would need three times the CPU."""
    found: list[int] = []
    with suppress(OSError):  # the process has ended
        for thread in os.scandir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"{thread.path}/children", "rb", buffering=0) as file:  # noqa: PTH123
                found += map(int, file.read().split())
    return found


def runs(process: psutil.Process) -> bool:
    """Whether a process is there and has not ended; it may end at any moment."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _runs(pid: int) -> bool:
    try:
        return runs(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def left_over(before: tuple[set[int], set[threading.Thread]]) -> str:
    """What runs now and did not run before, in words; empty when there is nothing."""
    kept.add(eager_store.pid())
    deadline = time.monotonic() + PATIENCE
    while found := _new(before):
        if time.monotonic() > deadline:
            return ", ".join(found)
        time.sleep(0.02)
    return ""


def _new(before: tuple[set[int], set[threading.Thread]]) -> list[str]:
    processes, threads = running()
    names = [f"process {pid} ({_command(pid)})" for pid in processes - before[0] if _runs(pid)]
    return names + [f"thread {thread.name!r}" for thread in threads - before[1] if not thread.name.startswith(KEPT)]


def strays(directory: str) -> list[psutil.Process]:
    """The processes that were started for the tests' data directory, however far they went."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("QUEUEOPS_TESTS_DATA") == directory:
                found.append(process)
        except (psutil.Error, OSError):
            continue  # it ended, or it belongs to another user
    return found


def _command(pid: int) -> str:
    try:
        return " ".join(psutil.Process(pid).cmdline())[:200]
    except psutil.Error:
        return "it ended"
