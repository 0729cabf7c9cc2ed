"""The trace of what an operator does in a terminal: each action is told to those who keep one.

The console's audit log does: an app that keeps another calls `keep` with a context manager, in its `ready`. It is
entered before the action and left after it, with what came of it in the same `Act`; what it raises on its way in
prevents the action.
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
    """One action: at most 500 tasks of one pool, or something else that `target` names."""

    verb: str
    target: str = ""
    pool: str = ""
    ids: Sequence[str] = ()
    filter: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    who: str = field(default_factory=lambda: who())
    token: str = ""
    """What the engine is to know the action by; who keeps a trace may say it."""
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    """What the engine answered for each task."""
    changed: int | None = None
    """How many changed, where that is not one of `rows` each."""
    refused: str = ""
    """Why nothing was done, where it is not said by `rows`."""


Keeper = Callable[[Act], AbstractContextManager[Any]]
_keepers: list[Keeper] = []


def keep(keeper: Keeper) -> None:
    """Tell this keeper of every action from now on."""
    if keeper not in _keepers:
        _keepers.append(keeper)


@contextmanager
def recorded(**facts: Any) -> Iterator[Act]:
    """An action with those who keep a trace of it around; the body sets what came of it."""
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
