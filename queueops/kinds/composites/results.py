"""Composite results: convert each part of a chain's or group's stored value by that part's return annotation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from queueops.errors import NotDecodable
from queueops.model.part_refs import PartRef
from queueops.model.records import Record
from queueops.model.states import CONTAINERS
from queueops.results.types import type_of
from queueops.tasks.encoding import decode_result

_pieces = msgspec.json.Decoder(list[msgspec.Raw]).decode
_outcomes = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_NOTHING = (b"", b"null")
"""The result of a part that was left out, too, whose annotation may not permit None."""

Place = tuple[PartRef, bytes, Any, Any]
"""A part, its stored result, and the container and the key for its value."""


class Parts(Protocol):
    """The store's method that is used here."""

    def parts(self, pool: str, task_id: str, *, last: bool = False) -> list[PartRef]:
        """The parts of a composite, or only the last one."""


def value_of(broker: Parts, record: Record) -> Any:
    """The result of a chain, a group or an iterator by its record. Raises BadResult and NotDecodable."""
    whole = PartRef(0, record.pool, record.id, record.kind, record.name, record.own.get("on_failure", ""))
    return composite_value(broker, whole, record.result)


def composite_value(broker: Parts, composite: PartRef, data: bytes) -> Any:
    """The result of a chain or a group. Raises BadResult and NotDecodable."""
    found: dict[str, Any] = {}
    waiting: list[Place] = [(composite, data, found, "value")]
    while waiting:  # recursion would end at a thousand levels
        part, data, container, key = waiting.pop()
        if part.kind not in CONTAINERS:
            container[key] = None if data in _NOTHING else type_of(part.kind, part.name).decode(data)
        elif part.kind == "chain":
            last = broker.parts(part.pool, part.id, last=True)
            waiting.append((last[0] if last else PartRef(0, part.pool, part.id), data, container, key))
        else:
            container[key] = values = _plain_list(part.name, data)
            waiting.extend(_members(broker, part, data, values))
    return found["value"]


def _plain_list(name: str, data: bytes) -> list[Any]:
    values = decode_result(name, data or b"[]")
    if not isinstance(values, list):
        raise NotDecodable(what="result", name=name, reason=f"a list was expected, and it is {type(values).__name__}")
    return values


def _members(broker: Parts, group: PartRef, data: bytes, values: list[Any]) -> Iterator[Place]:
    """The members of a group. A member whose record is lost is not among them, and its value stays plain."""
    parts = [part for part in broker.parts(group.pool, group.id) if part.order < len(values) and part.name]
    if group.on_failure != "outcomes":
        pieces = _pieces(data or b"[]")
        yield from ((part, bytes(pieces[part.order]), values, part.order) for part in parts)
        return
    for part in parts:
        outcome = _outcomes(data)[part.order]
        if "result" in outcome:
            yield part, bytes(outcome["result"]), values[part.order], "result"
