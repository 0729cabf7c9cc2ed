"""Errors of chains, groups and iterators: see ``errors``."""

from __future__ import annotations

from queueops.errors import IdInUse, QueueOpsError


class PartInUse(IdInUse):
    """A part of the composite cannot be created: a task {id!r} already exists in the state {state!r}.
    Use another id. A task without a delay can also join it, by on_conflict="ignore", or be left out, by "skip".
    """

    pool: str
    ids: list[str]  # all that are in use, of one call


class CompositePushExpired(QueueOpsError):
    """The composite {id} was not pushed: writing its {count} tasks took too long.
    The written part is erased. Push it again.
    """

    id: str
    count: int


class NotInGroup(QueueOpsError):
    """The task {id} cannot add parts to a group: {reason}. Push them with current().push(...)."""

    id: str
    reason: str


class GroupEnded(QueueOpsError):
    """The group {id} has ended, or what is below it: it takes no more parts. Nothing was added."""

    id: str


class UnfitParts(QueueOpsError):
    """The parts cannot be made a composite.

    An iterator or a template that answers such parts fails at once: the same answer would come again.
    """


class EmptyComposite(UnfitParts, ValueError):
    """The {what} has no tasks. Give it at least one."""

    what: str


class NoPart(UnfitParts, TypeError):
    """{value} cannot be part of {name}: use {advice}."""

    value: str
    name: str
    advice: str


class CompositeTooLarge(UnfitParts, ValueError):
    """The composite {name} has more than {limit} {what}. {advice}"""

    name: str
    limit: int
    what: str
    advice: str


class IdTwice(UnfitParts, ValueError):
    """The composite {name} has two parts with the id {id!r}. Give each part its own id."""

    id: str
    name: str


class BadBatch(UnfitParts, TypeError):
    """{name}.iterate() must return a Batch, or None when it is done, but it returned {value}."""

    name: str
    value: str


class Cycle(UnfitParts, ValueError):
    """The composite {name} contains itself, with the same arguments: it would never end."""

    name: str
