"""Eager mode: tasks run at once in the process that pushes them, without a store or a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from queueops.eager.broker import EagerBroker, eager_class


@contextmanager
def eager() -> Iterator[EagerBroker]:
    """Run each task at its push in this block, in all threads of the process. The push returns at the task's end.

    Redis is not used. Attempts follow each other without a delay, postponed tasks do not wait, and timeouts are not
    enforced. A failed task does not fail the push: `handle.result()` raises TaskFailed, as always. Raises UnknownTask
    for a name that is not registered. Handles from this block still work after it.
    """
    broker = eager_class()()
    with broker.in_place():
        yield broker
