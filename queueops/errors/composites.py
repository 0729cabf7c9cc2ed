"""Errors of chains, groups and iterators: see ``errors``."""

from __future__ import annotations

from queueops.errors import IdInUse, QueueOpsError


class PartInUse(IdInUse):
    """A part of the composite can't be created: there is a task {id!r} already, in the state {state!r}."""


class PlantingLost(QueueOpsError):
    """The composite {id} was not pushed: writing its {count} tasks took too long, and what was written is erased."""

    id: str
    count: int


class UnfitParts(QueueOpsError):
    """The parts cannot be made a composite.

    An iterator or a template that answers such parts fails at once: the same answer would come again.
    """


class EmptyComposite(UnfitParts, ValueError):
    """The {what} has no tasks. Give it at least one."""

    what: str


class NoPart(UnfitParts, TypeError):
    """{value} can't be part of {name}: use {advice}."""

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
    """The composite {name} has two parts with the id {id!r}."""

    id: str
    name: str


class BadBatch(UnfitParts, TypeError):
    """{name}.iterate() must answer a Batch, or None when it is done, but it answered {value}."""

    name: str
    value: str


class Cycle(UnfitParts, ValueError):
    """The composite {name} contains itself, with the same arguments: it would never end."""

    name: str
