"""Registration of follow-ups in the console: among the facts of a task, and with messages that were given up."""

from __future__ import annotations

from typing import Any

from console.ui.kind_pages import KindPages, Piece
from queueops import inspect
from queueops.inspect import TaskDetail


def dead(_about: Any) -> Piece:
    """The latest that could not be pushed."""
    found = inspect.dead_follow_ups()
    return Piece(template="console/follow_ups/dead.html", context={"dead": found})


def of_task(task: TaskDetail) -> Piece:
    """What is pushed at the end of a task, and what has been."""
    return Piece(template="console/follow_ups/of_task.html", context={})


PAGES = KindPages(pieces={"commands.dead": dead, "task.facts.parent": of_task})
