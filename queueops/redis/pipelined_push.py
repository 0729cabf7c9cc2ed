"""Pipelined pushes: many batches to one pool, of which the next may be sent while Redis executes the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from redis.exceptions import RedisError

from queueops.model.contracts import Push, Pushed
from queueops.redis import pushwire
from queueops.redis.base import BATCH, StoreClient
from queueops.redis.connections import own_connection
from queueops.redis.durability import Confirmation
from queueops.redis.pipelined_calls import ScriptLine


class RedisPushes:
    """Pending batches on a dedicated connection. Not thread-safe.

    A batch without a reply there is pushed in the usual way, which recognises what has already arrived.
    """

    def __init__(
        self,
        link: StoreClient,
        pool: str,
        push: Callable[[Sequence[Push]], list[Pushed]],
        read: Callable[[Sequence[Push], Sequence[int]], list[Pushed]],
        confirmation: Confirmation | None = None,
        *,
        ahead: bool = True,
    ) -> None:
        """``push`` is the usual way; ``read`` parses the reply of ``enqueue``; ``confirmation`` is closed at the end.

        Without ``ahead``, each batch is pushed in the usual way when it is received.
        """
        self._confirmation = confirmation
        self._push = push
        self._read = read
        self._prefix = link.keys(pool).prefix
        self._prepare = partial(link.lane_patterns.prepare_for, pool)

        def connect() -> Any:
            return own_connection(link.at(pool))

        self._open: Callable[[], ScriptLine] | None = None
        if ahead:
            self._open = partial(ScriptLine, connect, link.scripts, "enqueue")
        self._line: ScriptLine | None = None
        self._under_way: deque[Sequence[Push]] = deque()

    def send(self, pushes: Sequence[Push]) -> None:
        """Send a batch if it is worth a connection; a small single batch waits until it is received."""
        self._prepare(pushes)
        self._under_way.append(pushes)
        try:
            if self._line is None and self._open is not None and len(pushes) >= BATCH:
                self._line = self._open()
            if self._line is not None:
                self._line.send(self._prefix, *pushwire.enqueue_arguments(pushes))
        except (RedisError, OSError):
            self._give_up()

    def receive(self) -> list[Pushed]:
        """Return the replies for the oldest pending batch. Raises BrokerUnavailable and StoreFull."""
        pushes = self._under_way.popleft()
        try:
            reply = None if self._line is None else self._line.receive()
        except (RedisError, OSError):
            self._give_up()
            reply = None
        return self._push(pushes) if reply is None else self._read(pushes, reply)

    def close(self) -> None:
        """Close the connection; pending batches may still arrive."""
        if self._confirmation is not None:
            self._confirmation.close()
        self._hang_up()

    def _hang_up(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _give_up(self) -> None:
        """Ignore the error: if it lasts, the usual way meets and reports it."""
        self._open = None
        self._hang_up()
