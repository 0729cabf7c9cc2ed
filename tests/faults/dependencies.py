"""Tasks that wait for a dependency, which is slow or away."""

from __future__ import annotations

import time

from queueops import task


def shop(seconds: float = 0.0) -> None:
    time.sleep(seconds)


shops = [task(name=f"tests.faults.tasks.shop_{number}")(shop) for number in range(10)]
"""Ten names that wait for one dependency."""


def unanswered(host: str, what: str) -> None:
    raise ConnectionError(f"{what}: cannot connect to {host}")


away = [task(name=f"tests.faults.tasks.away_{letter}", retries=0)(unanswered) for letter in "abcdef"]
"""Names whose dependency does not answer."""
