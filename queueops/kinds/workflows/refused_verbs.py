"""Verbs of an operator that the store refuses for a run: they are not offered. See `refuse_verb` in run_ends.lua."""

from __future__ import annotations

from collections.abc import Mapping

from queueops.model.states import TERMINAL

NEVER = ("edit", "reinstate")
"""A history belongs to its arguments, and what a cancelled run waited for was cancelled with it."""
RUNS_IT = ("run_now", "retry", "requeue", "release")


def refused(record: str, fields: Mapping[str, str]) -> tuple[str, ...]:
    """The verbs that are refused for a record of this kind with these fields."""
    if record != "workflow":
        return ()
    if fields.get("s") not in TERMINAL:
        return (*NEVER, *RUNS_IT) if "vs" in fields else NEVER
    return (*NEVER, "retry") if "vx" in fields else NEVER
