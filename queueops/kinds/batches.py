"""Many calls, read a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from queueops.contracts import Push, Pushed
from queueops.errors import BadArguments
from queueops.redis import broker as brokers

BATCH = 500

Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int = BATCH) -> Iterator[list[Item]]:
    """Lists of at most `size` items; no more than one of them is in memory."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


Flight = tuple[list[Push], Future[list[Pushed]]]


class Flights:
    """Pushes batch after batch in a thread of its own: the next batch is made while the store works on this one."""

    def __init__(self, durable: bool) -> None:
        self._durable = durable
        self._broker = brokers.get_broker()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="queueops-push")
        self._flying: Flight | None = None

    def __enter__(self) -> Flights:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def send(self, pushes: list[Push]) -> Iterable[tuple[Push, Pushed]]:
        """Send a batch when the one before has landed; answers what became of that one. Raises its error."""
        landed = self.land()
        self._flying = pushes, self._thread.submit(self._broker.push, pushes, durable=self._durable)
        return landed

    def land(self) -> Iterable[tuple[Push, Pushed]]:
        """Wait for the last batch that was sent, and answer what became of it. Raises its error."""
        flying, self._flying = self._flying, None
        return zip(flying[0], flying[1].result(), strict=True) if flying else ()

    def in_flight(self) -> int:
        """How many calls are on their way and will arrive; waits for them."""
        return len(self._flying[0]) if self._flying and self._flying[1].exception() is None else 0


def call_of(item: Any, name: str) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of one call: `(1, 2)`, or `((1, 2), {"template": "bye"})`."""
    if not isinstance(item, tuple):
        reason = f"each call is a tuple of arguments, such as ({item!r},), and not {item!r}."
        raise BadArguments(name=name, reason=reason)
    if len(item) == 2 and isinstance(item[0], (tuple, list)) and isinstance(item[1], dict):
        return item[0], item[1]
    return item, {}
