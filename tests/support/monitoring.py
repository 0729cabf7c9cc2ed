"""Round trips: what a call asks of the store, by MONITOR."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.kernel.desk import Desk

WHOLE = ("SCAN", "KEYS", "SMEMBERS", "HSCAN", "SSCAN", "ZSCAN")
"""Commands that read a whole key, or all keys."""


class Asked(NamedTuple):
    """The commands that a process sent, and those that functions made for them."""

    sent: list[str]
    inside: list[str]

    @property
    def whole(self) -> list[str]:
        """The commands that no page may make."""
        return [command for command in (*self.sent, *self.inside) if command.split()[0].upper() in WHOLE]


def round_trips(desk: Desk, call: Callable[[], object]) -> Asked:
    """What the call asks, without what a new connection says of itself."""
    found = Asked([], [])
    with desk.client.monitor() as monitor:
        call()
        desk.client.echo("end")
        for heard in monitor.listen():
            command = heard["command"]
            if command.upper().startswith("ECHO"):
                return found
            if not command.upper().startswith("CLIENT"):
                (found.inside if heard["client_type"] == "lua" else found.sent).append(command)
    raise AssertionError("MONITOR ended")
