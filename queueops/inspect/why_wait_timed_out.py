"""Timeout reasons: the task's state and what holds it up, for a wait that timed out; read at one moment."""

from __future__ import annotations

from queueops.inspect.detail import find, state_of
from queueops.inspect.why import findings_of
from queueops.model.states import CLASSES, State, StateClass


def reason(pool: str, task_id: str) -> tuple[str, str]:
    """The state, and the first check that failed; of a running task its run time; empty if all checks passed."""
    detail = find(task_id, pool)
    if detail is None or state_of(detail) not in CLASSES:
        return "", ""
    state = State(state_of(detail))
    if CLASSES[state] is StateClass.TERMINAL:
        return "", ""
    findings = findings_of(detail)
    wrong = [finding.text for finding in findings if not finding.ok]
    if wrong:
        return state, wrong[0]
    return state, findings[0].text if CLASSES[state] is StateClass.LEASED else ""
