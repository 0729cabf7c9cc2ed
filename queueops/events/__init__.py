"""Events: changes of state, ends, progress and log lines of tasks, as they happen, for sync and async code.

    with events.follow(id=handle) as stream:
        for event in stream:
            show(event.state, event.done, event.total)
            if event.is_end:
                break

`follow` selects by id, by root, or by name. The state is read first, and again after a gap. Each event comes at most
once; docs/events.md says what is promised.
"""

from __future__ import annotations

from queueops.events.event import KINDS, Event
from queueops.events.stream import EventStream, follow

__all__ = ["KINDS", "Event", "EventStream", "follow"]
