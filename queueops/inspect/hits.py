"""Hits of the find box: what has a text as its id, or in its name."""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answers import Answer, Broken
from queueops.inspect.task_rows import TaskRow


class NamedHit(Answer, frozen=True, kw_only=True):
    """Something with a name that is not a task; `about` is a pool, a host or a task name."""

    TEXTS: ClassVar = ("name", "about", "title")

    name: str
    id: str = ""  # of an error: its fingerprint
    about: str = ""
    title: str = ""  # of a lane: what it stands for, if its name does not tell
    process: str = ""  # of a worker: the number of its process
    ended: bool = False  # of a worker: it is no longer in the registry


class OtherHits(Answer, frozen=True, kw_only=True):
    """Records of a kind that have the text as another id than their own. `title` says what they are."""

    title: str
    rows: tuple[TaskRow, ...]


class LookUp(Answer, frozen=True, kw_only=True):
    """What was found. `tasks` have the text as their id; the ids of `begun` begin with it."""

    tasks: tuple[TaskRow, ...] = ()
    begun: tuple[TaskRow, ...] = ()
    partial: bool = False  # the budget left tasks out
    others: tuple[OtherHits, ...] = ()
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    lanes: tuple[NamedHit, ...] = ()
    workers: tuple[NamedHit, ...] = ()
    errors: tuple[NamedHit, ...] = ()
    broken: tuple[Broken, ...] = ()
