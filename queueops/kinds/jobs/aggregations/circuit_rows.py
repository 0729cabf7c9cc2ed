"""Circuits of addresses of callbacks, as the lists of destinations show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from queueops.inspect.answers import Answer
from queueops.inspect.store import now_ms
from queueops.redis.query_replies import maybe_whole, text, whole

OPEN, CLOSED = ("open", "half open"), "closed"


class Circuit(Answer, frozen=True, kw_only=True):
    """The circuit of an address of callbacks, once it has failed."""

    TEXTS: ClassVar = ("address",)

    address: str
    state: str  # closed, open (nothing is sent), or half open (one callback is sent as a probe)
    failures: int  # attempts that failed in a row
    shut_ms: int | None = None  # when a callback is tried
    waiting: int = 0  # callbacks that wait for it


def read_circuit(row: Sequence[Any]) -> Circuit:
    """A circuit from the reply of the store."""
    address, fails, till, probe = map(text, row[:4])
    shut = maybe_whole(till)
    is_open = shut is not None and not probe and shut > now_ms()
    state = CLOSED if shut is None else "open" if is_open else "half open"
    return Circuit(address=address, state=state, failures=whole(fails), shut_ms=shut, waiting=int(row[4]))
