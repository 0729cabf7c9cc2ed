"""Diagnosis of the sample kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.why.findings import Finding, good
from queueops.model.states import State
from queueops.redis.query_replies import Detail
from tests.kinds.sample.inspect import rounds


def parked(detail: Detail, record: Mapping[str, str], state: State) -> None:
    """No task of this kind is parked."""


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """How many rounds have ended."""
    if record.get("k") == "sample":
        yield good(f"{len(rounds(detail.id, detail.pool))} rounds have ended.")
