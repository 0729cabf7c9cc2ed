"""Pushes sample work without end, as fast as the pace says: `python -m console.demo.feeder`."""

from __future__ import annotations

import logging
import signal
import time

import django

from queueops.errors import QueueOpsError

logger = logging.getLogger("console.demo")

TICK = 0.25
FULL = 2_000
"""So many pending tasks are enough: the feeder waits until the workers have caught up, or an operator lets them."""


class Feeder:
    """Owes some tasks to the queue: more with time, fewer with each push."""

    def __init__(self) -> None:
        from console.demo.mix import Mix, Rounds

        self._mix = Mix()
        self._rounds = Rounds()
        self._owed = 1.0
        self._rate = 0.0
        self._looked = float("-inf")
        self._last = time.monotonic()
        self.stopped = False

    def stop(self, *_: object) -> None:
        """End after this step; it is a signal's handler."""
        self.stopped = True

    def step(self) -> None:
        """Push what is due by now."""
        now = time.monotonic()
        if now - self._looked >= 1.0:
            self._looked = now
            self._rate = _allowed_rate()
        self._owed += self._rate * min(1.0, now - self._last)  # what a sleeping computer has missed is not made up for
        self._last = now
        if self._rate:
            self._rounds.push_due(now)
        while self._owed >= 1.0:
            self._owed -= 1.0
            self._mix.push()


def _allowed_rate() -> float:
    from console.demo.models import Pace
    from queueops import inspect

    pending = inspect.snapshot().states.get("pending", 0)
    if pending >= FULL:
        logger.info("%d tasks are pending; nothing is added until there are fewer than %d", pending, FULL)
        return 0.0
    return Pace.now()


def run(feeder: Feeder) -> None:
    """Feed until told to stop; while the store is away, try again each second."""
    while not feeder.stopped:
        try:
            feeder.step()
            time.sleep(TICK)
        except QueueOpsError as error:
            logger.warning("%s", error)
            time.sleep(1.0)


def main() -> None:
    """The process of the feeder."""
    django.setup()
    feeder = Feeder()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, feeder.stop)
    run(feeder)


if __name__ == "__main__":
    main()
