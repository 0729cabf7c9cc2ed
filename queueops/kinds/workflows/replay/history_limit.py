"""Limit of a history: counts what the code of a run asked for and was told, and refuses a step beyond the limit."""

from __future__ import annotations

from queueops.errors.workflows import HistoryTooLong, StepTooLarge
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.replay.step import Step
from queueops.kinds.workflows.settings import of_workflows

MOST_COMMANDS = 10_000
"""Commands of one step: the store takes them in one call."""


def check_size(execution: Execution, step: Step) -> None:
    """Note advice in the step in which a history passes half of its limit.

    Raises HistoryTooLong and StepTooLarge: the step must not be stored.
    """
    size, limit = execution.size, of_workflows().max_history
    if size > limit:
        raise HistoryTooLong(id=execution.info.id, size=size, limit=limit)
    if len(step.commands) > MOST_COMMANDS + step.over:
        raise StepTooLarge(id=execution.info.id, commands=len(step.commands), limit=MOST_COMMANDS)
    if execution.size_before < limit // 2 <= size:
        step.notes.append(f"its history has {size} commands and signals; it is time for wf.continue_as_new()")
