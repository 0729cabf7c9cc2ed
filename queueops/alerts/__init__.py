"""Alerts: rules tell which alarms reach a person, by mail, webhook or apprise. The watchdog's process sends them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from queueops import conf
from queueops.alerts.overview import (
    AlertsView,
    acknowledge,
    alerts,
    open_alarms,
    open_incidents,
    send_test,
    silence,
    silence_rule,
    unacknowledge,
    unsilence,
    unsilence_rule,
)

if TYPE_CHECKING:
    from queueops.watchdog import Watchdog

__all__ = [
    "AlertsView",
    "acknowledge",
    "alerts",
    "alerts_of",
    "open_alarms",
    "open_incidents",
    "send_test",
    "silence",
    "silence_rule",
    "unacknowledge",
    "unsilence",
    "unsilence_rule",
]

HANGS_AFTER_S = 180.0
"""A watchdog or its alerts without a new round for so long does not work."""


@contextmanager
def alerts_of(watchdog: Watchdog) -> Iterator[None]:
    """Send alerts, and call the heartbeat, while the watchdog runs. Without settings for them nothing is done."""
    settings = conf.current().alerts
    if not settings.is_used:
        yield
        return
    from queueops.alerts.alerting import Alerting
    from queueops.alerts.heartbeat import DeadMansSwitch

    alerting = Alerting()

    def works() -> bool:
        turned_at = min(watchdog.turned_at, alerting.turned_at)
        return time.monotonic() - turned_at < HANGS_AFTER_S

    switch = DeadMansSwitch(settings.heartbeat, works) if settings.heartbeat else None
    alerting.start()
    if switch:
        switch.start()
    try:
        yield
    finally:
        if switch:
            switch.stop()
        alerting.stop()
