"""A task's channel on which nothing is sent, for tests that run leases themselves."""

from __future__ import annotations

from typing import Any


class Channel:
    """Not kept: no reader of it here."""

    def progress(self, *_: Any) -> None:
        """Nothing is sent."""

    log = extend = progress


CHANNEL = Channel()
