"""What a wait that timed out is told: what holds the task up, in one sentence."""

from __future__ import annotations

from queueops.inspect.why import why
from queueops.states import CLASSES, State, StateClass


def reason(pool: str, task_id: str, state: str) -> str:
    """The first check that is not well; of a task that runs, for how long; empty when nothing holds it up."""
    findings = why(task_id, pool)
    wrong = [finding.text for finding in findings if not finding.ok]
    if wrong:
        return wrong[0]
    runs = state in CLASSES and CLASSES[State(state)] is StateClass.LEASED
    return findings[0].text if runs else ""
