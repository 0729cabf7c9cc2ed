"""Detail of a task in a store without lists: its record and its log, in the form in which Redis stores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queueops.model import kinds
from queueops.model.fields import KERNEL_FIELDS, Codec
from queueops.model.records import Record
from queueops.redis.broker import get_broker
from queueops.redis.query_replies import Detail
from queueops.stores.by_id import found_by_id

_WRITERS: dict[Codec, Callable[[Any], bytes]] = {
    "bytes": bytes,
    "flag": lambda value: b"1",
    "tags": lambda value: ",".join(value).encode(),
}
"""What writes a value of this codec; the others are texts."""


def read(id: str, pool: str) -> Detail | None:
    """The task of this id, in this pool or in any."""
    found = found_by_id(id, pool)
    if found is None:
        return None
    place, record = found
    since = record.ended or record.begun or record.due or record.created
    return Detail(
        id=id,
        pool=place,
        now=0,
        record=_stored(record),
        states={record.state: since},
        log=get_broker().log(place, id),
        lane=record.lane,
    )


def _stored(record: Record) -> dict[bytes, bytes]:
    found = {}
    for short, field in kinds.fields().items():
        value = getattr(record, field.name) if short in KERNEL_FIELDS else record.own.get(field.name)
        if value not in (None, "", b"", ()) and value is not False:
            found[short.encode()] = _WRITERS.get(field.codec, lambda value: str(value).encode())(value)
    return found
