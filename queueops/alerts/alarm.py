"""The alarms that alerts are about: what `queueops.inspect` shows, or that the store does not answer."""

from __future__ import annotations

from queueops import inspect
from queueops.errors import BrokerUnavailable, QueueOpsError
from queueops.inspect import Alarm
from queueops.model.sentences import say

STORE_AWAY = "store away"
"""The key of the alarm that the store does not answer."""


def alarms_now() -> tuple[list[Alarm], bool]:
    """The alarms that the console shows now, and whether these are all: without the store no others are known."""
    try:
        return list(inspect.snapshot().alarms), True
    except QueueOpsError as error:
        reason = error.reason if isinstance(error, BrokerUnavailable) else error
        text = say("The store does not answer: %(reason)s", reason=str(reason))
        return [Alarm(key=STORE_AWAY, level="danger", text=text)], False
