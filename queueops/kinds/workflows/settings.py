"""Settings of workflows: reads `QUEUEOPS["WORKFLOWS"]` into a frozen object, with every default here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from queueops import conf
from queueops.conf import readers as read


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSettings:
    """Every setting of workflows, with its default. The key in QUEUEOPS["WORKFLOWS"] is the name in capitals."""

    max_history: int = 10_000
    """Commands and signals; a run that would have more is blocked. At half of it, its log gives advice."""
    kept_runs: int | None = None
    """Runs that a worker process keeps in memory after a step. 0: each step begins with a replay. None: 1,000, and more
    as long as the process has less than 512 MB."""


DEFAULTS = WorkflowSettings()
"""The settings of a project that sets none."""


def of_workflows() -> WorkflowSettings:
    """The settings of this process."""
    found: WorkflowSettings = conf.current().of_kinds.get("workflows", DEFAULTS)
    return found


def read_settings(value: Any) -> WorkflowSettings:
    """Read `QUEUEOPS["WORKFLOWS"]`. Raises Unfit with the path of the wrong part."""
    return WorkflowSettings(**{key.lower(): item for key, item in read.table(READERS)(value).items()})


READERS: dict[str, read.Reader[Any]] = {
    "MAX_HISTORY": read.whole(1, 1_000_000),
    "KEPT_RUNS": read.optional(read.whole(0, 1_000_000)),
}
