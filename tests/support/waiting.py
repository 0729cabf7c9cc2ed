"""How a test waits: for a state of things, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.events import Event, EventStream


def wait_until(
    predicate: Callable[[], Any], timeout: float = 60.0, say: Callable[[], Any] | str = "", *, every: float = 0.01
) -> Any:
    """What `predicate` gives as soon as it is true. When it never is, fail with the last state that `say` tells."""
    deadline = time.monotonic() + timeout
    while True:
        found = predicate()
        if found:
            return found
        if time.monotonic() >= deadline:
            state = say() if callable(say) else say
            raise AssertionError(f"not so within {timeout:g} s; the last answer was {found!r}; {state}")
        time.sleep(every)


def until_end(stream: EventStream, task_id: str = "") -> list[Event]:
    """What comes up to the end of a task: of any, or of this one."""
    found = []
    for event in stream:
        found.append(event)
        if event.is_end and task_id in ("", event.id):
            break
    return found


def stands_still(thread: Path) -> bool:
    """Whether a thread (its directory in /proc) is stopped, or was gone before it could be."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0] in "tTZX"
    except FileNotFoundError:
        return True
