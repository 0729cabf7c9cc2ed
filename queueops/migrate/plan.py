"""Plans: what becomes of each task of the old queue, decided before any file is rewritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst

Use = Callable[[str], str]
"""Imports a public name of queueops, and answers how the file writes it."""
Reason = tuple[int, str, str]
"""A line, the code, and why it stays or what to write."""


@dataclass
class Task:
    """A task: a function with a decorator, or one that is pushed by its name."""

    name: str  # dotted, with its module
    registered: str  # the name that producers may use
    path: Path
    line: int
    args: Sequence[cst.Arg] = ()  # of the old decorator
    converted: bool = False  # it is a task of QueueOps already
    self_name: str | None = None  # the first parameter of a bound task
    retries: str = "0"
    delay: str = "180"  # seconds before a retry that names no delay
    pool: str = "default"
    cron: str | None = None  # a line, or the text of a Schedule
    plain: bool = False  # a function without a decorator, which the old queue takes as it is
    method: str = "push"  # what a call of the old task becomes, where a call queues it
    options: Callable[[Use], Sequence[cst.Arg]] = lambda use: ()
    blockers: list[Reason] = field(default_factory=list)
    checks: list[Reason] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """Whether calls of it can be written for QueueOps."""
        return self.converted or not self.blockers

    def new_args(self, use: Use) -> list[cst.Arg]:
        """The arguments of the new decorator."""
        from queueops.migrate.code import named

        found = list(self.options(use))
        if self.cron is not None:
            text = self.cron if self.cron.startswith('"') else self.cron.replace("Schedule(", f"{use('Schedule')}(", 1)
            found.append(named("cron", text))
        return found
