"""Stuck states: those in which tasks stand while nothing leaves, with the reason in words."""

from __future__ import annotations

from django.utils.translation import gettext as _

from console.ui import formatting
from queueops.inspect import Snapshot
from queueops.model.states import State, table

STUCK_MS = 60_000
"""A ready task that waits for less is not stuck."""
ALARM = "stuck "
"""What an alarm of busy slots in which no task ends is about, before the pool."""


def stuck_states(snapshot: Snapshot) -> dict[str, str]:
    """The reason for each stuck state."""
    left = {flow.partition(">")[0] for flow, rate in snapshot.flows.items() if rate}
    found: dict[str, str] = {}
    oldest = min((pool.oldest_pending_ms for pool in snapshot.pools if pool.oldest_pending_ms), default=None)
    if oldest is not None and snapshot.taken_ms - oldest > STUCK_MS and State.PENDING not in left:
        span = formatting.span(snapshot.taken_ms - oldest)
        found[State.PENDING] = _("No task is started. The first one waits for %(span)s.") % {"span": span}
    if any(alarm.key.startswith(ALARM) for alarm in snapshot.alarms):
        text = _("No task ended within a minute, and all worker slots are busy.")
        found |= {state: text for state in table().leased if snapshot.states.get(state) and state not in left}
    return found
