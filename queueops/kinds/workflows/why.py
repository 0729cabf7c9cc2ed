"""Diagnosis of runs: what a waiting run waits for, and why a run is blocked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from queueops.inspect.why.findings import Finding, bad, good
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.redis.query_replies import Detail

KINDS = {"a": "activities", "c": "child workflows", "t": "timers"}
RUN = "workflow"


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """What an idle run waits for; None for other tasks."""
    if record.get("k") == RUN and state is State.IDLE:
        return _waits(detail, record)
    return None


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Nothing more than of any task."""
    return iter(())


def _waits(detail: Detail, record: Mapping[str, str]) -> Iterator[Finding]:
    if "vs" in record:
        yield bad("The run is suspended. Resume it, and it goes on with the events of its inbox.", target=detail.id)
        return
    row = get_role(WorkflowCalls).run_row(detail.pool, detail.id)
    counts = Counter(what[:1] for what in row.calls.values()) if row else Counter()
    waits = ", ".join(f"{counts[kind]:,} {label}" for kind, label in KINDS.items() if counts[kind])
    if waits:
        yield bad(f"The run waits for {waits}.", target=detail.id)
    places = [line for line in record.get("vw", "").split("\n") if line]
    signals = [line for line in places if line.startswith("signal ")]
    for line in signals:
        yield bad(f"The run waits for the {line}.", target=detail.id)
    if not waits and not signals:
        yield bad("The run waits for an event.", target=detail.id)
    for line in places:
        if line not in signals:
            yield good("The code waits here.", value=line)
