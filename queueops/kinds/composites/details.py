"""Details of composites and their parts: what follows when a part fails, and what runs it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queueops.inspect.kind_details import KindDetails
from queueops.model.states import CONTAINERS, TERMINAL
from queueops.redis.query_replies import Detail, maybe_whole, text


class CompositeDetails(KindDetails):
    """The policy and the size of a chain, a group or an iterator, and what runs a part of it again."""

    def of_task(self, detail: Detail, record: Mapping[str, str], state: str) -> dict[str, Any]:
        """The number of parts, and what follows when one fails; a chain ends with its first failure."""
        found: dict[str, Any] = {"parts": maybe_whole(record.get("cc"))}
        if record.get("k") in ("chain", "group", "iterator"):
            found["on_failure"] = record.get("of", "fail")
        return found

    def retried_by(self, detail: Detail, state: str) -> str:
        """The chain or group of an ended part. A task of an iterator is retried alone."""
        is_part = detail.parent_kind in CONTAINERS or (b"pp" in detail.record and b"it" not in detail.record)
        return text(detail.record.get(b"pi")) if is_part and state in TERMINAL else ""


DETAILS = CompositeDetails()
