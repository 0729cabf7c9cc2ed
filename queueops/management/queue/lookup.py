"""Lookup of what an argument names: a task, the pool that holds it, or an error."""

from __future__ import annotations

from django.core.management.base import CommandError

from queueops import inspect
from queueops.control import per_pool_calls
from queueops.errors import advice
from queueops.inspect import TaskDetail
from queueops.inspect.store import open_reader


def task_of(id: str, pool: str) -> TaskDetail:
    """The task. Raises CommandError if it does not exist."""
    found = inspect.task(id, pool)
    if found is None:
        raise missing(f"task {id!r}", pool)
    return found


def missing(what: str, pool: str) -> CommandError:
    """The error for a name that does not exist, in the pool if one is given."""
    return CommandError(f"There is no {what}{f' in the pool {pool!r}' if pool else ''}.")


def place_of(id: str, pool: str) -> str:
    """The pool that holds a task; the given one if the task does not exist."""
    return per_pool_calls.place_of(id, pool) or pool


def check_pool(pool: str) -> None:
    """Raise CommandError if no pool has this name; an empty name means all."""
    if pool and not (reader := open_reader()).knows(pool):
        raise CommandError(f"There is no pool {pool!r}{advice(pool, reader.pools())}")
