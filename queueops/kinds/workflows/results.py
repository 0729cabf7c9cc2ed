"""Results of runs: what the code returned; None of a run that continued as new, whose next run has the result."""

from __future__ import annotations

from typing import Any

from queueops.model.records import Record
from queueops.results.types import type_of


def value_of(broker: object, record: Record) -> Any:
    """The result of an ended run or activity. Raises BadResult."""
    if record.own.get("next_run"):
        return None
    return type_of(record.kind, record.name).decode(record.result)
