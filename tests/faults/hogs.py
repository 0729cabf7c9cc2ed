"""Tasks that take from their process what all of it needs: the interpreter's lock, or its open files."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess

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
def add_up(numbers: int) -> int:
    """In one call of a builtin."""
    note("start")
    total = sum(range(numbers))
    note("end")
    return total


@task(retries=0)
def match(letters: int) -> bool:
    """In a regular expression whose time doubles with each letter."""
    note("start")
    found = re.fullmatch(r"(a+)+b", "a" * letters) is not None
    note("end")
    return found


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
