"""Tasks that take from their process what all of it needs: the interpreter's lock, or its open files."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import time
from collections.abc import Callable

from queueops import task
from tests.faults.ledger import gate as gate_path
from tests.faults.ledger import note, noted


@task(retries=0)
def hold_lock(seconds: float) -> str:
    """In a C function that does not release the lock."""
    note("start")
    ctypes.PyDLL(None).usleep(round(seconds * 1_000_000))
    note("end")
    return "held"


@task(retries=0)
def hold_once() -> None:
    """For ever at the first start, not at all at the next one."""
    note("start")
    note("held")
    if noted("held") == 1:
        ctypes.PyDLL(None).usleep(3_600_000_000)


@task(retries=0)
def hold_while_closed(gate: str) -> None:
    """The same, for as long as the test keeps a gate closed."""
    note("start")
    library = ctypes.PyDLL(None)
    path = os.fsencode(gate_path(os.environ["QUEUEOPS_TESTS_LEDGER"], gate))
    script = b"while [ -e '%s' ]; do sleep 0.05; done" % path
    library.system(script)
    note("end")


@task(retries=0)
def add_up(seconds: float) -> int:
    """In one call of a builtin."""
    note("start")
    total = sum(range(round(TRIED_NUMBERS * seconds / _time_of(lambda: sum(range(TRIED_NUMBERS))))))
    note("end")
    return total


@task(retries=0)
def match(seconds: float) -> bool:
    """In a regular expression whose time doubles with each letter of a word."""
    note("start")
    words = seconds / _time_of(lambda: re.search(r"(a+)+b", LETTERS))
    found = re.search(r"(a+)+b", f"{LETTERS} " * round(words)) is not None
    note("end")
    return found


TRIED_NUMBERS, LETTERS = 1_000_000, "a" * 17


def _time_of(call: Callable[[], object]) -> float:
    """The least processor time of a few calls in seconds: other processes and threads only add to it."""
    times = []
    for _ in range(5):
        began = time.thread_time()
        call()
        times.append(time.thread_time() - began)
    return min(times)


@task(timeout=2, retries=0)
def hold_lock_past_limit() -> None:
    """Longer than its own timeout."""
    note("start")
    ctypes.PyDLL(None).usleep(60_000_000)


@task()
def close_all() -> None:
    """Close every file of the process but the standard ones."""
    note("start")
    os.closerange(3, 65536)


@task(retries=0)
def leave_grandchild() -> int:
    """Start a program that starts another one and ends first; the number of the other one."""
    note("start")
    done = subprocess.run(["sh", "-c", "sleep 0 >&- & echo $!"], capture_output=True, check=True)
    return int(done.stdout)
