"""Alarms about alerts: targets whose messages were given up. The screen is where they are seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from queueops.inspect.alarm import Alarm, danger, manage
from queueops.inspect.spans import span
from queueops.model.alerts import Undelivered
from queueops.model.faults import SHOWN_MS


def alert_alarms(sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm for each target that does not get its messages."""
    found = _undelivered(sampled)
    if found is None or sampled["taken"] - found.at > SHOWN_MS:
        return
    for name, state in sorted(found.targets.items()):
        lost = f"{state.lost:,} {'message was' if state.lost == 1 else 'messages were'} given up"
        ago = span(max(0, sampled["taken"] - state.failed_ms))
        text = f"Alerts do not reach the target {name}: {lost}, the last {ago} ago: {state.error}"
        yield danger(text, "alerts", manage("check", "--deploy"), key=f"alert-target {name}")


def _undelivered(sampled: Mapping[str, Any]) -> Undelivered | None:
    try:
        return msgspec.json.decode(str(sampled.get("undelivered") or ""), type=Undelivered)
    except msgspec.MsgspecError:
        return None
