"""Follow-ups in eager mode: the pushes that the end of a task makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from queueops.eager.broker import EagerBroker
from queueops.model import kinds
from queueops.model.contracts import Conflict, Push
from queueops.model.ids import new_id
from queueops.model.records import Record
from queueops.model.states import State
from queueops.redis.wire import with_first

_OUTCOMES = {State.SUCCEEDED: "success", State.FAILED: "failure", State.CANCELLED: "cancelled"}
_READ: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "n": ("name", str),
    "k": ("kind", str),
    "l": ("lane", str),
    "p": ("priority", int),
    "a": ("args", str.encode),
    "t": ("timeout_ms", int),
    "kp": ("keep_ms", int),
    "tg": ("tags", lambda text: tuple(text.split(","))),
    "r": ("retries", int),
    "rp": ("retry", str),
    "ro": ("root", str),
    "tr": ("trace", str),
    "me": ("meta", str.encode),
}
"""The fields of a record that a push has under another name."""


class EagerFollowUps(EagerBroker):
    """Pushes the follow-ups of a task that has ended."""

    def at_end(self, record: Record) -> None:
        """One after the other, in this process."""
        if record.is_over and not self.is_replaced(record):
            self.push(list(pushes_after(record)))
        super().at_end(record)


def pushes_after(record: Record) -> Iterator[Push]:
    """The follow-ups on the outcome of an ended task."""
    outcome = _OUTCOMES[State(record.state)]
    for plan in msgspec.json.decode(record.own.get("follow_ups", b"[]")):
        if outcome in plan["on"]:
            yield _push(plan, record, outcome)


def _push(plan: dict[str, Any], record: Record, outcome: str) -> Push:
    fields = dict(zip(plan["fields"][::2], plan["fields"][1::2], strict=True))
    values = {name: read(fields.pop(short)) for short, (name, read) in _READ.items() if short in fields}
    if not plan["alone"]:
        values["args"] = with_first(values.get("args", b""), _value(record, outcome))
    values.setdefault("root", record.root or record.id)
    own = [(short, int(value) if kinds.fields()[short].codec == "whole" else value) for short, value in fields.items()]
    return Push(
        id=plan["id"] or new_id(),
        pool=plan["pool"],
        conflict=Conflict(plan["policy"]),
        own=(*own, ("oi", record.id), ("og", record.uid), ("oo", outcome)),
        **{"meta": record.meta, **values},
    )


def _value(record: Record, outcome: str) -> bytes:
    """The result, or how the task ended."""
    if outcome == "success":
        return record.result
    error = msgspec.Raw(record.error) if record.error and outcome == "failure" else None
    story = {"task": record.id, "name": record.name, "outcome": outcome, "reason": record.reason, "error": error}
    return msgspec.json.encode(story)
