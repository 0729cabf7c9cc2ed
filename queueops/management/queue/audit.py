"""Audit of actions in a terminal and over HTTP: passes each action to the registered keepers.

The console's audit log is one; an app with another log calls `keep` with a context manager, in its `ready`. The context
is entered before the action and left after it, with the outcome in the same `Act`. An error on entry prevents the
action.
"""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from queueops.model.contracts import Row


@dataclass(kw_only=True, slots=True)
class Act:
    """One action: at most 500 tasks of one pool, operations of workers, or something else that `target` names."""

    verb: str
    target: str = ""
    pool: str = ""
    ids: Sequence[str] = ()
    filter: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    who: str = field(default_factory=lambda: who())
    address: str = ""
    """The network address of the client, if it has one."""
    token: str = ""
    """The idempotency token of the action; a keeper may set it."""
    most: int = 0
    """Of an action by workers: the most tasks that it changes."""
    operations: Sequence[tuple[str, str]] = ()
    """Pool and id of the operations that perform it, once they have begun."""
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    """The engine's answer for each task."""
    changed: int | None = None
    """The number of changes, if that is not one for each of `rows`."""
    refused: str = ""
    """The reason why nothing was done, if `rows` do not have it."""


Keeper = Callable[[Act], AbstractContextManager[Any]]
_keepers: list[Keeper] = []


def keep(keeper: Keeper) -> None:
    """Register a keeper for every action from now on."""
    if keeper not in _keepers:
        _keepers.append(keeper)


@contextmanager
def recorded(**facts: Any) -> Iterator[Act]:
    """Run an action within the contexts of all keepers; the body sets the outcome."""
    act = Act(**facts)
    with ExitStack() as stack:
        for keeper in _keepers:
            stack.enter_context(keeper(act))
        yield act


def who() -> str:
    """The user of the terminal and the machine."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()} (command line)"
    except (KeyError, OSError):
        return f"{socket.gethostname()} (command line)"
