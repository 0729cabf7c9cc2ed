"""Opened replies: connections that open the sealed values of every reply, for a setting ENCRYPTION.

Messages of one pool to another stay sealed: the process that brings them writes them to the other pool as they are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import redis

from queueops.model.encryption import Keyring

RELAYED = {"exchange": (10, (6,)), "command": (4, (0, 1))}
"""Functions whose reply has messages to other pools, or their answers: how many parts it has then, and which."""
_KEPT = dict(RELAYED.values())


class OpenedReplies:
    """Added to a class of redis-py's connections by `open_replies`."""

    relayed = False
    """Whether the replies are those of functions in RELAYED."""

    def __init__(self, *, keyring: Keyring, **options: Any) -> None:
        self._keyring = keyring
        super().__init__(**options)

    def read_response(self, *args: Any, **options: Any) -> Any:
        """As redis-py, with opened values."""
        reply = super().read_response(*args, **options)  # type: ignore[misc]  # of the other base
        kept = _KEPT.get(len(reply), ()) if self.relayed and isinstance(reply, list) else ()
        if not kept:
            return self._keyring.open(reply)
        return [part if place in kept else self._keyring.open(part) for place, part in enumerate(reply)]


def open_replies(client: redis.Redis, ring: Keyring) -> None:
    """Let new connections of a client open what they read."""
    pool = client.connection_pool
    pool.connection_class = _opening(pool.connection_class)
    pool.connection_kwargs |= {"keyring": ring}


@cache
def _opening(base: type) -> Any:
    return type(f"Opening{base.__name__}", (OpenedReplies, base), {})
