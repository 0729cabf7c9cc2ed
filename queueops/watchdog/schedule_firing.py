"""Schedule firing: creates the tasks of due schedules. Any number of watchdogs may try; the script accepts one."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from django.conf import settings

from queueops.errors import BrokerUnavailable, QueueOpsError, StoreFull
from queueops.errors.schedules import ScheduleNotStored
from queueops.schedules.definition import NEW, Firing, ScheduleDefinition, ScheduleState, without_key
from queueops.schedules.missed_runs import LATE_MS, firing
from queueops.schedules.schedule_store import ScheduleStore
from queueops.tasks import push_hooks
from queueops.tasks.declared_schedules import declared

Declared = Callable[[], Sequence[ScheduleDefinition]]
CALLS = 20
"""Batches of one pool before the next pool's turn."""
PUT_OFF_S = 0.1
"""Seconds between checks whether a deferred run can start, while there is one."""

logger = logging.getLogger("queueops.watchdog")


class ScheduleFiring:
    """Fires what is due in the given pools, and knows when the next tick of any pool comes."""

    doing = "fire the schedules of"
    beginning = "store the schedules of the code in"

    def __init__(self, broker: ScheduleStore, declared: Declared | None = None, origin: str = "") -> None:
        """`declared` returns the schedules in the code of the project `origin`; without it, none is changed."""
        self._broker = broker
        self._declared = declared
        self._origin = origin
        self._next: dict[str, float] = {}
        self._seen: dict[str, int] = {}
        self._full = False
        self._closed: set[str] = set()

    def ahead_s(self) -> float:
        """Seconds until the next known tick; infinite if there is none."""
        return min(self._next.values(), default=math.inf) - time.monotonic()

    def due_pools(self) -> list[str]:
        """The pools with a due tick."""
        now = time.monotonic()
        return [pool for pool, at in self._next.items() if at <= now]

    def act(self, pool: str) -> dict[str, int]:
        """Fire what is due in a pool; return how many tasks were created and ticks skipped.

        Raises BrokerUnavailable.
        """
        self._next.pop(pool, None)  # an error is retried in the next round, not at once
        acted: dict[str, int] = {}
        for _ in range(CALLS):
            found = self._broker.ripe_schedules(pool)
            if not self._goes_on(pool, found.now_ms):
                self._align(pool)
                found = self._broker.ripe_schedules(pool)
            words = [word for row in found.rows for word in self._fire(row, found.now_ms)]
            for word in words:
                acted[word.lower()] = acted.get(word.lower(), 0) + 1
            if not words:
                break
        ahead = [] if found.next_ms is None else [(found.next_ms - found.now_ms + 1) / 1000]
        if found.put_off:
            ahead.append(PUT_OFF_S)
        if ahead:
            self._next[pool] = time.monotonic() + min(ahead)
        return acted

    def _goes_on(self, pool: str, now_ms: int) -> bool:
        """Whether Redis' clock has not been set back since the last check; False at the first one."""
        before = self._seen.get(pool)
        self._seen[pool] = now_ms
        return before is not None and now_ms > before - LATE_MS

    def _align(self, pool: str) -> None:
        """After a clock was set back, let the schedules of later ticks wait for the new time's next tick.

        A tick that was fired before is not fired again, because its task exists.
        """
        now_ms, _, _, rows = self._broker.schedules(pool)
        for row in rows:
            if row.definition is None or row.due_ms is None:
                continue
            late = row.definition.timetable().after(now_ms + LATE_MS)
            if late is not None and row.due_ms > late:
                logger.warning("the clock was set back: schedule %s of pool %s comes earlier", row.id, pool)
                due = row.definition.timetable().after(now_ms)
                self._broker.change_schedule(pool, row.id, "align", due_ms=due, seen=row.version)

    def _fire(self, row: ScheduleState, now_ms: int) -> list[str]:
        try:
            return self._run(row, now_ms)
        except StoreFull as error:  # the round's other work frees memory, and must continue
            if not self._full:
                logger.warning("the schedule %s of pool %s must wait: %s", row.id, row.pool, error)
            self._full = True
            return []

    def _run(self, row: ScheduleState, now_ms: int) -> list[str]:
        definition = row.definition
        if row.is_closed:  # another watchdog may have the key, and this one after a restart: the tick stays due
            if row.id not in self._closed:
                logger.error("a schedule of pool %s does not run: %s", row.pool, row.broken)
            self._closed.add(row.id)
            return []
        if definition is None:
            logger.error("a schedule of pool %s does not run: %s", row.pool, row.broken)
            self._broker.change_schedule(row.pool, row.id, "rest", row.broken.encode())
            return []
        due = row.due_ms
        is_due = due is not None and due <= now_ms
        plan = firing(definition, due, now_ms) if is_due and due is not None else Firing((), 0, due)
        word, *words = self._broker.fire(row, push_hooks.of_schedule(definition), plan)
        self._full = False
        if plan.missed and word == "OK":
            logger.warning("schedule %s of pool %s: %d missed ticks are not run", row.id, row.pool, plan.missed)
        return words

    # Schedules in the code

    def pools(self) -> list[str]:
        """The pools of the schedules in the code."""
        return sorted({definition.push.pool for definition in self._in_code})

    def within(self, pools: Callable[[], list[str]]) -> ScheduleFiring:
        """The same for these pools alone."""

        def declared() -> list[ScheduleDefinition]:
            return [definition for definition in self._in_code if definition.push.pool in pools()]

        return ScheduleFiring(self._broker, None if self._declared is None else declared, self._origin)

    def begin(self, pool: str) -> None:
        """Write the schedules of the code to Redis. Schedules that left the code stop, and remain visible.

        Raises ScheduleNotStored at the end, for the first that could not be written, and BrokerUnavailable.
        """
        if self._declared is None:
            return
        wanted = [definition for definition in self._in_code if definition.push.pool == pool]
        now_ms, _, _, rows = self._broker.schedules(pool)
        known, names, unstored = {row.id: row for row in rows}, set(), list[ScheduleNotStored]()
        for definition in wanted:
            names.add(definition.id)
            try:
                self._put(pool, definition, known.get(definition.id), now_ms)
            except BrokerUnavailable:
                raise
            except QueueOpsError as error:
                unstored.append(ScheduleNotStored(id=definition.id, reason=str(error)))
        for row in rows:
            if row.id not in names and self._is_ours(row) and row.orphaned_ms is None:
                logger.warning("the schedule %s of pool %s is gone from the code: it stops", row.id, pool)
                self._broker.change_schedule(pool, row.id, "orphan", seen=row.version)
        if unstored:
            raise unstored[0]

    @cached_property
    def _in_code(self) -> Sequence[ScheduleDefinition]:
        return self._declared() if self._declared is not None else ()

    def _is_ours(self, row: ScheduleState) -> bool:
        definition = row.definition
        return definition is not None and definition.source == "code" and definition.origin == self._origin

    def _put(self, pool: str, definition: ScheduleDefinition, row: ScheduleState | None, now_ms: int) -> None:
        before = None if row is None else row.definition
        if row is not None and row.is_closed:  # another process reads it: a definition under another key would stop it
            raise without_key(row.id)
        if before is not None and before.source != "code":
            logger.warning("the schedule %s of the code gives way to one of this id that a person made", definition.id)
            return
        if row is not None and before == definition and row.orphaned_ms is None:
            return
        same = (
            before is not None
            and row is not None
            and row.orphaned_ms is None
            and _timing(before) == _timing(definition)
        )
        due = row.due_ms if same and row is not None else None
        if due is None:
            due = definition.timetable().after(now_ms)
        self._broker.put_schedule(pool, definition, due, seen=row.version if row is not None else NEW, who="code")


def duty(broker: Any, *, has_code: bool) -> ScheduleFiring:
    """The firing of a watchdog; with the project's code it also stores the schedules that the code declares."""
    if not has_code:
        return ScheduleFiring(broker)
    return ScheduleFiring(broker, declared, str(settings.SETTINGS_MODULE or ""))


def _timing(definition: ScheduleDefinition) -> tuple[str, str]:
    return definition.line, definition.zone
