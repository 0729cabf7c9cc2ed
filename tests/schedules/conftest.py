"""A desk whose schedules fire where the test says so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from queueops.eager.execution import run
from queueops.redis.broker import get_broker
from queueops.schedules.definition import NEW, ScheduleDefinition, ScheduleState
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.composites.channel import CHANNEL
from tests.kernel.desk import POOL, Desk, make

HOUR_MS = 3_600_000
FAR = f"0 0 1 {(datetime.now(UTC).month + 5) % 12 + 1} *"
"""A line that does not come while the tests run: half a year away."""


class Clock(Desk):
    """Schedules of one pool, the passing of their time, and what they did."""

    def define(self, id: str = "s", line: str = FAR, *, ago_ms: int | None = None, **values: Any) -> str:
        """Define a schedule whose tick came so long ago; what was answered."""
        push = make("", **values.pop("push", {}))
        definition = ScheduleDefinition(id=id, line=line, zone=values.pop("zone", "UTC"), push=push, **values)
        due = self.now() - ago_ms if ago_ms is not None else definition.timetable().after(self.now())
        return self.broker.put_schedule(POOL, definition, due, seen=NEW)

    def came(self, id: str = "s", ago_ms: int = 0) -> int:
        """The tick of a schedule has come, so long ago; answers it."""
        tick = self.now() - ago_ms
        self.client.zadd(self.keys.schedules, {id: tick}, xx=True)
        return tick

    def fire(self, by: ScheduleFiring | None = None) -> dict[str, int]:
        """A watchdog looks; what it did."""
        return (by or self.watchdog()).act(POOL)

    def watchdog(self) -> ScheduleFiring:
        """One more watchdog."""
        return ScheduleFiring(self.broker)

    def of(self, id: str = "s") -> ScheduleState:
        """A schedule, which must be there."""
        found = self.broker.schedule(POOL, id)
        assert found is not None
        return found

    def runs(self, id: str = "s") -> list[str]:
        """The ids of the tasks of a schedule, in order."""
        names = self.server.keys(f"{self.keys.task(id)}@*")
        return sorted(name.decode().rpartition(":task:")[2] for name in names if b"#" not in name)

    def drain_really(self) -> list[str]:
        """Run everything that is ready with its own code, one at a time; the ids in the order of their starts."""
        order: list[str] = []
        while leases := self.claim(1):
            order.append(leases[0].id)
            self.exchange(settle=[run(leases[0], CHANNEL)])
        return order

    def words(self, id: str = "s") -> list[str]:
        """What the history of a schedule says, the oldest first."""
        from queueops import inspect

        found = inspect.schedule(id)
        assert found is not None
        return [event.word for event in reversed(found.history)]


@pytest.fixture
def clock(namespace: str) -> Iterator[Clock]:
    """A desk; what it leaves in Redis is checked at the end."""
    made = Clock(get_broker())
    yield made
    made.check()
