"""Round trips: what a call asks of the store, by MONITOR."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from redis.connection import AbstractConnection

from tests.kernel.desk import Desk

WHOLE = ("SCAN", "KEYS", "SMEMBERS", "HSCAN", "SSCAN", "ZSCAN")
"""Commands that read a whole key, or all keys."""
RANGES = ("ZRANGE", "ZREVRANGE", "LRANGE")
"""Commands that do so from 0 to -1."""
NOT_COUNTED = ("MONITOR", "ECHO", "CLIENT", "$4\\r\\nTIME")


class Asked(NamedTuple):
    """The commands that a process sent, and those that functions made for them."""

    sent: list[str]
    inside: list[str]

    @property
    def whole(self) -> list[str]:
        """The commands that no page may make."""
        return [command for command in (*self.sent, *self.inside) if _reads_all(command)]


def _reads_all(command: str) -> bool:
    word, *values = command.upper().split()
    return word in WHOLE or (word in RANGES and values[1:3] == ["0", "-1"])


class Trips:
    """How many requests this thread has sent to a server; a pipeline is one."""

    def __init__(self) -> None:
        """Begin with none."""
        self.made = 0


@contextmanager
def counted_trips() -> Iterator[Trips]:
    """Count the requests of this thread, without those of MONITOR, of the mark behind a call and of the clock.

    A process reads the store's clock once a minute, whatever it shows.
    """
    trips, mine, send = Trips(), threading.get_ident(), AbstractConnection.send_packed_command

    def counting(connection: AbstractConnection, command: Any, *more: Any, **options: Any) -> Any:
        text = repr(command)
        if threading.get_ident() == mine and not any(word in text for word in NOT_COUNTED):
            trips.made += 1
        return send(connection, command, *more, **options)

    AbstractConnection.send_packed_command = counting  # type: ignore[method-assign]
    try:
        yield trips
    finally:
        AbstractConnection.send_packed_command = send  # type: ignore[method-assign]


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


def commands_of(desk: Desk, calls: Mapping[str, Callable[[], object]]) -> dict[str, str]:
    """All commands of each call in one text, to look for names of keys in it."""
    found = {name: round_trips(desk, call) for name, call in calls.items()}
    return {name: "\n".join((*asked.sent, *asked.inside)) for name, asked in found.items()}
