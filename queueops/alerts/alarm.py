"""Alarm as alerts need it: what `queueops.inspect` shows, or that the store does not answer."""

from __future__ import annotations

import msgspec

from queueops import inspect
from queueops.errors import BrokerUnavailable, QueueOpsError

STORE_AWAY = "store away"
"""The key of the alarm that the store does not answer."""


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that needs an operator. `key` is the same as long as it lasts."""

    key: str
    level: str
    text: str
    command: str = ""
    pools: tuple[str, ...] = ()
    since_ms: int = 0  # 0 = not known


def alarms_now() -> tuple[list[Alarm], bool]:
    """The alarms that the console shows now, and whether these are all: without the store no others are known."""
    try:
        return [_alarm(each) for each in inspect.snapshot().alarms], True
    except QueueOpsError as error:
        text = f"The store does not answer: {error.reason if isinstance(error, BrokerUnavailable) else error}"
        return [Alarm(key=STORE_AWAY, level="danger", text=text)], False


def _alarm(found: inspect.Alarm) -> Alarm:
    return Alarm(
        key=found.key,
        level=found.level,
        text=found.text,
        command=found.command,
        pools=found.pools,
        since_ms=found.since_ms or 0,
    )
