"""Outbox of a database: a push as data, which the app `queueops.contrib.outbox` keeps as a row until it is sent.

The app puts itself in place when Django loads it. Without it nothing here is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import msgspec

from queueops.errors.outbox import OutboxNotInstalled, OutboxRefused
from queueops.model import kinds
from queueops.model.contracts import Push, Pushed
from queueops.results.handle import TaskHandle
from queueops.tasks import push_hooks

HOUR_MS = 3_600_000
"""A relay that ends between a push and its note of it pushes again. So long the store recognises that at least."""


class Form(NamedTuple):
    """One form of a push: how it is written, how it is sent, and the pushes whose times count from its beginning.

    ``send`` takes the broker and the body. A repeated call must create nothing twice.
    """

    type: Any
    send: Callable[[Any, Any], object]
    begin: Callable[[Any], Iterable[Push]]


class Kept(NamedTuple):
    """A push to be kept: the word of its form, the task that names its pool and lane, and what is written."""

    form: str
    push: Push
    body: Any


class Plain(msgspec.Struct, array_like=True):
    """A task to be created, and whether the store must confirm that it is on disk."""

    push: Push
    durable: bool = False


def _send(broker: Any, body: Plain) -> None:
    (pushed,) = broker.push((body.push,), durable=body.durable)
    sent(body.push, pushed)


def sent(push: Push, pushed: Pushed) -> None:
    """Tell the receivers of `task_pushed` of a push that is in the store, but not again after a crash.

    Raises OutboxRefused for a refused one.
    """
    if pushed.word == "REJECTED":
        raise OutboxRefused(id=push.id)
    if pushed.word != "REPEAT":
        push_hooks.after(TaskHandle(pushed.id, push.pool, pushed.word, pushed.uid), push)


PLAIN = "push"
OWN = {PLAIN: Form(Plain, _send, lambda body: (body.push,))}


def form(word: str) -> Form:
    """The form with this word. Raises LookupError for an unknown one."""
    for forms in (OWN, *kinds.roles("outbox")):
        if word in forms:
            found: Form = forms[word]
            return found
    raise LookupError(f"no registered kind has the form {word!r}")


def plain(pushes: Iterable[Push], *, durable: bool) -> Iterator[Kept]:
    """Tasks without parts, each as a row of its own."""
    return (Kept(PLAIN, push, Plain(push, durable)) for push in pushes)


def kept_an_hour(push: Push) -> None:
    """Let the store know the ended task for an hour at least, and so recognise a second push of it."""
    if push.keep_ms is not None:
        push.keep_ms = max(push.keep_ms, HOUR_MS)


def grown_older(push: Push, age_ms: int) -> None:
    """Let the delay and the expiry of a task count from its push, and not from the time at which it is sent."""
    if push.delay_ms is not None:
        push.delay_ms = max(0, push.delay_ms - age_ms)
    push.own = tuple((name, _older(value, age_ms) if name == "xe" else value) for name, value in push.own)


def _older(expiry: str | int, age_ms: int) -> str | int:
    text = str(expiry)
    return f"+{max(1, int(text[1:]) - age_ms)}" if text.startswith("+") else expiry


class Outbox(Protocol):
    """What the app does for the rest of QueueOps."""

    def keep(self, database: str, kept: Sequence[Kept]) -> None:
        """Write rows in the transaction of a database, and send them after its commit."""

    def relaying(self) -> AbstractContextManager[None]:
        """Send what waits, in a thread, while the block runs."""

    def relay(self) -> int:
        """Send what waits now; how many rows were sent."""

    def figures(self) -> Sequence[Any]:
        """The rows of each database in numbers."""

    def rows(self, database: str, *, dead: bool, after: int, limit: int) -> Sequence[Any]:
        """Rows of a database, the oldest first."""

    def act(self, verb: str, database: str, ids: Sequence[int] | None) -> list[int]:
        """Retry or delete rows that were given up, some or all; the numbers of those that it changed."""


_installed: Outbox | None = None


def install(outbox: Outbox) -> None:
    """Put the app in place."""
    global _installed
    _installed = outbox


def is_installed() -> bool:
    """Whether the project has the app."""
    return _installed is not None


def installed() -> Outbox:
    """The app. Raises OutboxNotInstalled."""
    if _installed is None:
        raise OutboxNotInstalled()
    return _installed


def relaying() -> AbstractContextManager[None]:
    """Send what waits while the block runs; without the app nothing is done."""
    return nullcontext() if _installed is None else _installed.relaying()
