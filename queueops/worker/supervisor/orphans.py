"""Orphan reaper: collects the ended processes that the kernel gave to this one, as to process 1 of a container.

A task may start a program that starts another one and ends first. Without a reaper the other one stays as a zombie.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Collection

_PR_GET_CHILD_SUBREAPER = 37


def adopts_orphans() -> bool:
    """Whether the kernel gives orphans to this process: it is process 1, or a subreaper."""
    if os.getpid() == 1 or sys.platform != "linux":
        return os.getpid() == 1
    found = ctypes.c_int()
    return ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found)) == 0 and found.value == 1


def reap(own: Collection[int]) -> None:
    """Collect ended orphans. It stops at a process of `own`, whose status its owner collects first."""
    try:
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid not in own:
            os.waitpid(ended.si_pid, os.WNOHANG)
    except ChildProcessError:  # there are no children at all
        return
