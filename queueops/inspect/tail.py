"""Live tail: changes of state, progress and log lines as they happen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from queueops.inspect.answers import Answer
from queueops.inspect.store import open_reader, pools_of
from queueops.redis.broker import get_broker
from queueops.redis.events import Tail
from queueops.redis.query_replies import read_object, whole


class Event(Answer, frozen=True, kw_only=True):
    """A live event: a change of state (`before` to `after`), progress, or a log line."""

    TEXTS_OF_TASKS: ClassVar = ("text",)

    t: int
    pool: str
    id: str
    name: str = ""
    before: str = ""  # empty for a new task
    after: str = ""  # empty for a task that is gone, and without a change of state
    done: str = ""
    total: str = ""
    text: str = ""


def tail(pool: str = "", seconds: float | None = None) -> Iterator[Event]:
    """The events of a pool or of all, for a number of seconds or without an end. Raises BrokerUnavailable.

    Events are published while they are followed and are not stored: earlier events are not seen.
    """
    followed = Tail(get_broker(), pools_of(open_reader(), pool))
    try:
        for where, data in followed.follow(seconds):
            if (event := _event(where, data)) is not None:
                yield event
    finally:
        followed.close()


def _event(pool: str, data: bytes) -> Event | None:
    """One event; None for a message that a foreign program has published."""
    found = read_object(data)
    if found is None:
        return None
    return Event(
        t=whole(str(found.get("t", ""))),
        pool=pool,
        id=str(found.get("id", "")),
        name=str(found.get("name", "")),
        before=str(found.get("from", "")),
        after=str(found.get("to", "")),
        done=str(found.get("done", "")),
        total=str(found.get("total", "")),
        text=str(found.get("text", "")),
    )
