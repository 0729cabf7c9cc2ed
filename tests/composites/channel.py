"""A task's channel on which nothing is sent, for tests that run leases themselves."""

from __future__ import annotations

from typing import Any


class Channel:
    """Nobody looks."""

    def progress(self, *_: Any) -> None:
        """Nothing is sent."""

    log = extend = progress


CHANNEL = Channel()
