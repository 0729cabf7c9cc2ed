"""Details of a task of the sample kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from queueops.inspect import rounds
from queueops.inspect.detail import TaskDetail
from queueops.inspect.kind_details import KindDetails
from queueops.model.redact import Redactor


class RoundDetails(KindDetails):
    """Its rounds."""

    raw: ClassVar[Mapping[str, Callable[[bytes, Redactor], str]]] = {
        "zr": lambda value, hide: f"{value.decode()} ended"
    }

    def lines(self, task: TaskDetail) -> Iterable[tuple[str, object]]:
        """The values of the rounds that have ended."""
        return (("rounds", ", ".join(rounds(task.id, task.pool))),) if task.kind == "sample" else ()

    def lost_by_edit(self, task: TaskDetail) -> str:
        """Its rounds."""
        return f"Throw the rounds of {task.id} away?" if task.kind == "sample" else ""


DETAILS = RoundDetails()
