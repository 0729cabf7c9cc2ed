"""The alarms that alerts are about: what `queueops.inspect` shows, or that the store does not answer."""

from __future__ import annotations

from queueops import inspect
from queueops.alerts.rules import ALL_POOLS
from queueops.errors import BrokerUnavailable, QueueOpsError
from queueops.inspect import Alarm
from queueops.model.sentences import say

STORE_AWAY = "store away"
"""The key of the alarm that the store does not answer."""


def alarms_now() -> tuple[list[Alarm], frozenset[str]]:
    """The alarms that the console shows now, and the pools whose alarms are not known: all without the store."""
    try:
        found = inspect.snapshot()
    except QueueOpsError as error:
        reason = error.reason if isinstance(error, BrokerUnavailable) else error
        text = say("The store does not answer: %(reason)s", reason=str(reason))
        return [Alarm(key=STORE_AWAY, level="danger", text=text)], frozenset((ALL_POOLS,))
    seen = {each.name for each in found.pools}
    return list(found.alarms), frozenset(each.pool for each in found.broken) - seen
