"""News from the store: from the reply of a script to the listeners of this process.

They are ends of chains, groups and iterators, tasks that expired, and tasks that the store pushed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from queueops.model import kinds


class Ended(msgspec.Struct, frozen=True):
    """A chain, a group or an iterator that has ended. `expired` or `pushed`: what else has come of a task."""

    id: str
    pool: str
    kind: str
    name: str
    state: str
    root: str


Listener = Callable[[Sequence[Ended]], object]
_listeners: list[Listener] = []
_own: list[Any] = []


def listen(listener: Listener) -> None:
    """Register a listener. It is called with ended composites, in the thread of the call that ended them."""
    if listener not in _listeners:
        _listeners.append(listener)


def tell(ended: Sequence[Ended]) -> None:
    """Call the listeners, if something has ended."""
    if ended:
        for listener in _listeners:
            listener(ended)


def wanted() -> bool:
    """Whether any signal about them has a receiver."""
    return any(each.wanted() for each in _senders())


def send(ended: Sequence[Ended]) -> None:
    """Send the signals about them, in this thread."""
    for each in _senders():
        each.send(ended)


def register_sender(sender: Any) -> None:
    """Register a sender of signals, with the functions `wanted` and `send`; the kinds bring theirs as `endings`."""
    if sender not in _own:
        _own.append(sender)


def _senders() -> tuple[Any, ...]:
    return (*_own, *kinds.roles("tree.endings"))


def read(pool: str, flat: Sequence[Any]) -> list[Ended]:
    """Parse a script's reply: id, kind, name, state and root of each."""
    texts = iter([part.decode("utf-8", "replace") for part in flat])
    return [
        Ended(task_id, pool, kind, name, state, root or task_id)
        for task_id, kind, name, state, root in zip(texts, texts, texts, texts, texts, strict=True)
    ]
