"""Details of composites and their parts: what follows when a part fails, and what runs it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from queueops.inspect.kind_details import KindDetails
from queueops.model.sentences import marked
from queueops.model.states import CONTAINERS, TERMINAL
from queueops.redis.query_replies import Detail, maybe_whole, text


class CompositeDetails(KindDetails):
    """The policy and the size of a chain, a group or an iterator, and what runs a part of it again."""

    stored: ClassVar[Sequence[str]] = (
        marked("its child %(id)s failed: %(reason)s"),
        marked("its child %(id)s failed"),
        marked("its child %(id)s was cancelled: %(reason)s"),
        marked("its child %(id)s was cancelled"),
        marked("%(number)s of its %(children)s children failed; the first: %(reason)s"),
        marked(
            "its list of results came to %(number)s bytes, the limit is %(limit)s. Store the data elsewhere,"
            " return references."
        ),
        marked("%(ulid)s failed: %(reason)s"),
        marked("%(ulid)s failed"),
        marked("%(ulid)s was cancelled: %(reason)s"),
        marked("%(ulid)s was cancelled"),
        marked("the list of its children is lost"),
        marked("the list of its open children is lost"),
        marked("the record of %(id)s is lost, which it is part of"),
        marked("it is run again with all of %(id)s"),
        marked("%(ulid)s is not among its children"),
        marked("the key %(id)s holds something else than it should: what it knows of its parts is lost"),
        marked("it is part of %(id)s in the pool %(pool)s: retry that"),
        marked("it is part of %(id)s, which goes on without it: retry that when it has ended"),
        marked(
            "it is part of %(id)s, which has been %(state)s: retry that, and what did not succeed in it comes again"
        ),
        marked("it is part of %(id)s, which has %(state)s: retry that, and what did not succeed in it comes again"),
        marked("the arguments of a %(kind)s were used up when it was pushed: push it anew"),
        marked("all of it comes again"),
        marked("what failed comes again, and what follows from it"),
        marked("it goes on from where it was"),
        marked("%(number)s of its tasks come again, then it goes on from where it was"),
    )

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
