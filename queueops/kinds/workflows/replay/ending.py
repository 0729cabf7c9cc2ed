"""Ending of a run's code: what its error means, also in the groups that task groups raise; and the error of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
from django.core.exceptions import SynchronousOnlyOperation

from queueops.errors.workflows import BlockedStep
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.replay.step import ContinueAsNew
from queueops.model.reasons import kept
from queueops.model.task_error import StoredError

IN_USE = "in_use"
"""The state of the end of a child whose instance has a run that has not ended."""


def judged(error: BaseException) -> BaseException:
    """A ContinueAsNew, or the error that fails the run.

    Raises BlockedStep and SynchronousOnlyOperation: these block a run, whatever else its code raised.
    """
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, BlockedStep | SynchronousOnlyOperation):
            raise leaf
    if all(isinstance(leaf, ContinueAsNew) for leaf in leaves):
        return leaves[0]
    if isinstance(error, BaseExceptionGroup):
        own = error.split(ContinueAsNew)[1]
        return error if own is None else own
    return error


def cancel_reason(code: asyncio.Future[Any]) -> str:
    """The reason of the cancel by which the code has ended; empty if it has none."""
    try:
        code.result()
    except asyncio.CancelledError as error:
        return kept(str(error))
    return ""


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def stored_error(end: Entry) -> StoredError:
    """The error of an activity or a child that has ended otherwise than by success."""
    if end.error is not events.NOTHING:
        try:
            return msgspec.json.decode(end.error, type=StoredError)
        except msgspec.MsgspecError:  # written by other software
            return StoredError(message=bytes(end.error)[:200].decode("utf-8", "replace"))
    return StoredError(type=_TYPES.get(end.state, "Failed"), message=end.reason)


_TYPES = {"cancelled": "Cancelled", "crashed": "WorkerLost", IN_USE: "InstanceInUse"}
"""The type of an error by the state of an end."""
