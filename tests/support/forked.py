"""Processes that a test forks."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress

from tests.support.waiting import wait_until


def status_of(call: Callable[[], object], seconds: float = 30) -> int:
    """The exit status of a forked process that makes a call: 0, or 70 after an error. It is killed if it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, from Python 3.12 on
        pid = os.fork()
    if not pid:
        try:
            call()
        except BaseException:
            os._exit(70)
        os._exit(0)
    status: list[int] = []

    def has_ended() -> bool:
        found, code = os.waitpid(pid, os.WNOHANG)
        status.extend([os.waitstatus_to_exitcode(code)] if found else [])
        return bool(found)

    try:
        wait_until(has_ended, seconds)
    except AssertionError:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    return status[0]
