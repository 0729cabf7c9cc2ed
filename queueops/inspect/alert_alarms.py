"""Alarms about alerts: targets whose messages were given up. The screen is where they are seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from queueops.inspect.alarm import Alarm, danger, manage
from queueops.inspect.spans import span
from queueops.model.alerts import Undelivered
from queueops.model.faults import SHOWN_MS
from queueops.model.sentences import say_n


def alert_alarms(sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm for each target that does not get its messages."""
    found = _undelivered(sampled)
    if found is None or sampled["taken"] - found.at > SHOWN_MS:
        return
    for name, state in sorted(found.targets.items()):
        text = say_n(
            "Alerts do not reach the target %(name)s: %(n)s message was given up, the last %(age)s ago: %(error)s",
            "Alerts do not reach the target %(name)s: %(n)s messages were given up, the last %(age)s ago: %(error)s",
            state.lost,
            name=name,
            age=span(max(0, sampled["taken"] - state.failed_ms)),
            error=state.error,
        )
        yield danger(text, "alerts", manage("check", "--deploy"), key=f"alert-target {name}")


def _undelivered(sampled: Mapping[str, Any]) -> Undelivered | None:
    try:
        return msgspec.json.decode(str(sampled.get("undelivered") or ""), type=Undelivered)
    except msgspec.MsgspecError:
        return None
