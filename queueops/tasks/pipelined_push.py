"""Pipelined push: reads many calls, and pushes them batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from queueops.errors import BadArguments, QueueOpsError
from queueops.model.contracts import LeaseRef, Push, Pushed
from queueops.redis import broker as brokers

BATCH = 500

Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int = BATCH) -> Iterator[list[Item]]:
    """Lists of at most `size` items; only one of them is in memory."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


class PipelinedPush:
    """Pushes batch after batch: the next batch is made while the store executes the last one."""

    def __init__(self, pool: str, durable: bool, under: LeaseRef | None = None) -> None:
        self._line = brokers.get_broker().pushes(pool, durable=durable, under=under)
        self._under_way: deque[list[Push]] = deque()
        self._unknown = 0

    def __enter__(self) -> PipelinedPush:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def send(self, pushes: list[Push]) -> Iterable[tuple[Push, Pushed]]:
        """Send a batch; return the results of the previous one. Raises its error."""
        self._line.send(pushes)
        self._under_way.append(pushes)
        return self.receive() if len(self._under_way) > 1 else ()

    def receive(self) -> Iterable[tuple[Push, Pushed]]:
        """The results of the oldest pending batch, if there is one. Raises its error."""
        if not self._under_way:
            return ()
        pushes = self._under_way.popleft()
        try:
            return zip(pushes, self._line.receive(), strict=True)
        except QueueOpsError:
            self._unknown = sum(map(len, self._under_way))
            self._under_way.clear()
            raise

    def explain(self, error: Exception, received: int) -> None:
        """Add to an error how many calls were pushed: ``received`` and those pending, which this waits for."""
        with suppress(QueueOpsError):  # the first error is the one to raise; a failed batch was not pushed
            while self._under_way:
                received += len(list(self.receive()))
        error.add_note(f"{received} calls before the batch with the error have been pushed.")
        if self._unknown:
            error.add_note(f"The {self._unknown} calls after that batch may have been pushed, too.")


def call_of(item: Any, name: str) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of one call: `(1, 2)`, or `((1, 2), {"template": "bye"})`."""
    if not isinstance(item, tuple):
        reason = f"each call is a tuple of arguments, such as ({item!r},), and not {item!r}."
        raise BadArguments(name=name, reason=reason)
    if len(item) == 2 and isinstance(item[0], (tuple, list)) and isinstance(item[1], dict):
        return item[0], item[1]
    return item, {}
