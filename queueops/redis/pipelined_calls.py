"""Pipelined script calls on a dedicated connection: the next call may be sent while Redis executes the last.

Replies arrive in the order of the calls. Not thread-safe.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import hiredis
from redis.exceptions import ResponseError

from queueops.redis.connections import own_connection
from queueops.redis.opened_replies import RELAYED
from queueops.redis.scripts import is_missing
from queueops.redis.store_client import StoreClient

Argument = str | int | float | bytes


class ScriptLine:
    """Calls of one script for one pool. Each ``send`` is followed by one ``receive``.

    After any error it must be closed: replies may be missing.
    """

    def __init__(self, link: StoreClient, pool: str, name: str) -> None:
        """Connect to the node that has the pool; ``name`` is the script's. Raises redis-py's errors."""
        self._scripts = link.scripts
        self._prefix = link.keys(pool).prefix
        self._name = name
        self._calls: deque[tuple[Argument, ...]] = deque()
        self._early: deque[Any] = deque()
        self._connection = own_connection(link.at(pool))
        self._connection.relayed = name in RELAYED
        self._connection.connect()

    def send(self, *arguments: Argument) -> None:
        """Send one call. Raises redis-py's errors."""
        call = (self._prefix, *arguments)
        packed = hiredis.pack_command((*self._scripts.command(self._name), 1, *call))  # type: ignore[arg-type]
        self._connection.send_packed_command((packed,), check_health=False)
        self._calls.append(call)

    def receive(self) -> Any:
        """Return the reply of the oldest pending call. Raises redis-py's errors, as `Scripts.send`."""
        try:
            if not self._early:
                try:
                    self._early.append(self._connection.read_response())
                except ResponseError as error:
                    if not is_missing(error):
                        raise
                    self._call_again()
        except ResponseError as error:
            self._scripts.note_place(self._name, error)
            raise
        self._calls.popleft()
        return self._early.popleft()

    def close(self) -> None:
        """Close the connection. Pending calls are executed, and their replies are lost."""
        self._connection.disconnect()

    def _call_again(self) -> None:
        """Repeat the pending calls that failed because the server lacks the function."""
        replies = [None, *(self._read() for _ in range(len(self._calls) - 1))]
        for call, reply in zip(self._calls, replies, strict=True):
            self._early.append(self._scripts.call_again(self._name, call, self._execute) if reply is None else reply[0])

    def _read(self) -> tuple[Any] | None:
        """The next reply; None if the call is to be repeated."""
        try:
            return (self._connection.read_response(),)
        except ResponseError as error:
            if not is_missing(error):
                raise
            return None

    def _execute(self, *command: Argument) -> Any:
        packed = hiredis.pack_command(command)  # type: ignore[arg-type]  # it takes any length
        self._connection.send_packed_command((packed,), check_health=False)
        return self._connection.read_response()
