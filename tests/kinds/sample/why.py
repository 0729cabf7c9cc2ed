"""Diagnosis of the sample kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.why.findings import Finding, bad, good
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.redis.query_replies import Detail
from tests.kinds.sample.inspect import rounds
from tests.kinds.sample.states import RESTING


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """A task that rests; None for other tasks."""
    return iter((bad(say("The task rests before its next round.")),)) if state == RESTING else None


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """How many rounds have ended."""
    if record.get("k") == "sample":
        yield good(say("%(count)s rounds have ended.", count=len(rounds(detail.id, detail.pool))))
