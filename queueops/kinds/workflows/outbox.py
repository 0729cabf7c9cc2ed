"""Workflows in the outbox of a database: the beginning of a run is a row."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from queueops.kinds.workflows.store.run_store import RunStore
from queueops.model.contracts import Push, Pushed
from queueops.tasks import outbox
from queueops.tasks.outbox import Form, Kept


class Start(msgspec.Struct, array_like=True):
    """The beginning of a run of an instance."""

    instance: str
    push: Push
    ignores: bool = False
    durable: bool = False


def kept_run(push: Push, instance: str, *, ignores: bool, durable: bool) -> Iterable[Kept]:
    """The row of a run. That of an instance gets a token, by which the store recognises a second start."""
    if not instance:
        return outbox.plain((push,), durable=durable)
    push.token = push.token or os.urandom(6).hex()
    return (Kept("run", push, Start(instance, push, ignores, durable)),)


def _send(broker: RunStore, start: Start) -> None:
    push = start.push
    word, run = broker.start_run(start.instance, push, ignores=start.ignores, durable=start.durable)
    outbox.sent(push, Pushed(run, 0, word))


def _begin(start: Start) -> tuple[Push, ...]:
    return (start.push,)


FORMS = {"run": Form(Start, _send, _begin)}
