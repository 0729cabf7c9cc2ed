"""Lookup of what an argument names: a task, the pool that holds it, or an error."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.management.base import CommandError

from queueops import inspect
from queueops.control import per_pool_calls
from queueops.errors import advice
from queueops.inspect import TaskDetail
from queueops.inspect.alarm import manage
from queueops.inspect.store import open_reader


def task_of(id: str, pool: str) -> TaskDetail:
    """The task. Raises CommandError if it does not exist."""
    found = inspect.task(id, pool)
    if found is None:
        raise missing("task", id, pool)
    return found


def missing(what: str, id: str, pool: str = "") -> CommandError:
    """The error for an id that does not exist, in the pool if one is given. It names what else has this id."""
    where = f" in the pool {pool!r}" if pool else ""
    return CommandError(" ".join((f"There is no {what} {id!r}{where}.", *told_others(id))))


def told_others(id: str) -> Iterator[str]:
    """What else has this id, a sentence each, with the command that shows it."""
    for other in inspect.other_ids(id):
        yield f"It is {other.what}: {manage('queue', *other.words)}"


def place_of(id: str, pool: str) -> str:
    """The pool that holds a task; the given one if the task does not exist."""
    return per_pool_calls.place_of(id, pool) or pool


def check_pool(pool: str) -> None:
    """Raise CommandError if no pool has this name; an empty name means all."""
    if pool and not (reader := open_reader()).knows(pool):
        raise CommandError(f"There is no pool {pool!r}{advice(pool, reader.pools())}")
