"""Staying awake for a reply that is about to come.

A thread that sleeps until its reply comes is woken late: waking a processor that has fallen asleep meanwhile takes
longer than the server took to answer. So a producer polls for the reply for a moment before it sleeps. It polls seldom
where that was in vain, as with a server far away.
"""

from __future__ import annotations

import os
import select
import time

AWAKE = 150e-6
"""Seconds of looking at most; a server on the same machine has answered by then."""
RARELY = 64
"""How many replies in a row are slept for, at most, before one is looked for again."""


class SpinWait:
    """For one connection at a time, in one thread."""

    __slots__ = ("_missed", "_poll", "_resting")

    def __init__(self, descriptor: int) -> None:
        """Where the replies come. With one processor, looking would only keep the server from answering; and where
        threads are green, or under Windows, there is nothing to look with.
        """
        self._resting = 0
        self._missed = 0
        self._poll = select.poll() if _processors() > 1 and hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(descriptor, select.POLLIN)

    def keep(self) -> None:
        """Return when a reply has come, or when it is better to sleep until it comes."""
        if self._poll is None:
            return
        if self._resting:
            self._resting -= 1
            return
        poll, end = self._poll.poll, time.perf_counter() + AWAKE
        while not poll(0):
            if time.perf_counter() > end:
                self._missed = min(RARELY, 2 * self._missed + 1)
                self._resting = self._missed
                return
        self._missed = 0


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
