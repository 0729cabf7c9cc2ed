"""Feeder: pushes sample tasks at the rate of the slider: `python -m queueops_demo.feeder`."""

from __future__ import annotations

import logging
import signal
import time

import django

from queueops.errors import QueueOpsError

logger = logging.getLogger("queueops_demo")

TICK = 0.25
FULL = 2_000
"""Most pending tasks. At this number the feeder waits until the workers have caught up."""


class Feeder:
    """Pushes tasks at a rate: time adds to the number of due tasks, each push takes one off."""

    def __init__(self) -> None:
        from queueops_demo.job_mix import JobMix
        from queueops_demo.task_mix import Rounds, TaskMix

        self._mix = TaskMix()
        self._rounds = Rounds()
        self._jobs = JobMix()
        self._owed = 1.0
        self._rate = 0.0
        self._looked = float("-inf")
        self._last = time.monotonic()
        self.stopped = False

    def stop(self, *_: object) -> None:
        """End after this step; a signal handler."""
        self.stopped = True

    def step(self) -> None:
        """Push the tasks that are due."""
        now = time.monotonic()
        if now - self._looked >= 1.0:
            self._looked = now
            self._rate = _allowed_rate()
        self._owed += self._rate * min(1.0, now - self._last)  # a suspended computer does not catch up
        self._last = now
        if self._rate:
            self._rounds.push_due(now)
            self._jobs.push_due(now)
        while self._owed >= 1.0:
            self._owed -= 1.0
            self._mix.push()


def _allowed_rate() -> float:
    from queueops import inspect
    from queueops_demo.models import Pace

    pending = inspect.snapshot().states.get("pending", 0)
    if pending >= FULL:
        logger.info("%d tasks are pending; nothing is added until there are fewer than %d", pending, FULL)
        return 0.0
    return Pace.now()


def run(feeder: Feeder) -> None:
    """Push until `stop()`; while the store is unreachable, try again each second."""
    while not feeder.stopped:
        try:
            feeder.step()
            time.sleep(TICK)
        except QueueOpsError as error:
            logger.warning("%s", error)
            time.sleep(1.0)


def main() -> None:
    """The entry point of the feeder process."""
    django.setup()
    feeder = Feeder()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, feeder.stop)
    run(feeder)


if __name__ == "__main__":
    main()
