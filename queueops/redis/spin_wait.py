"""Spin-wait: polls for a reply that is about to arrive, before the thread sleeps.

A thread that sleeps until its reply arrives is woken late. Waking an idle processor takes longer than the server's
work. So a producer polls for the reply for a moment before it sleeps. It polls rarely if that was in vain, as with a
remote server.
"""

from __future__ import annotations

import os
import select
import time

AWAKE = 150e-6
"""Maximum seconds of polling; a server on the same machine has answered by then."""
RARELY = 64
"""Maximum number of replies in a row that are awaited asleep before polling is tried again."""


class SpinWait:
    """For one connection at a time, in one thread."""

    __slots__ = ("_missed", "_poll", "_resting")

    def __init__(self, descriptor: int) -> None:
        """``connection`` receives the replies. With one processor, polling would only delay the server.

        With green threads, or under Windows, polling is not possible.
        """
        self._resting = 0
        self._missed = 0
        self._poll = select.poll() if _processors() > 1 and hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(descriptor, select.POLLIN)

    def keep(self) -> None:
        """Return when a reply has arrived, or when it is better to sleep until it arrives."""
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
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
