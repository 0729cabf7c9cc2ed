"""Store of schedules: schedules are kept beside the tasks that they create, so that a tick is one script call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import redis

from queueops import conf
from queueops.errors import NotDecodable, TooMany
from queueops.model import endings
from queueops.model.encryption import refuse_sealed
from queueops.model.records import pairs
from queueops.redis import pushwire, query_replies
from queueops.redis.schedule_keys import log_key
from queueops.redis.store_client import StoreClient
from queueops.redis.wrong_types import executed
from queueops.schedules.definition import (
    ANY,
    Firing,
    ScheduleDefinition,
    Schedules,
    ScheduleState,
    Undefined,
    decode_definition,
    without_key,
)

MOST_SCHEDULES = 500
"""Maximum schedules of one pool: lists show all of them."""
RIPE = 50
"""Schedules that one call handles."""


class ScheduleCalls(StoreClient):
    """Compare and set: a caller with an older version, or a tick that has already fired, changes nothing."""

    def schedules(self, pool: str) -> Schedules:
        """All schedules of a pool."""
        return self._read(pool, "all", MOST_SCHEDULES)

    @staticmethod
    def question(which: str, id: str = "") -> tuple[str, int, str]:
        """The arguments of the script that reads schedules, for a call of many pools at once."""
        return which, 1 if id else MOST_SCHEDULES, id

    @staticmethod
    def answer(pool: str, reply: Any) -> Schedules:
        """Its reply."""
        now, first, put_off, rows = reply
        return Schedules(int(now), query_replies.maybe_whole(first or None), put_off, list(_states(pool, rows)))

    def schedule(self, pool: str, id: str) -> ScheduleState | None:
        """One schedule, or None."""
        return next(iter(self._read(pool, "one", 1, id).rows), None)

    def ripe_schedules(self, pool: str) -> Schedules:
        """The schedules whose tick is due, or whose deferred run can start."""
        return self._read(pool, "ripe", RIPE)

    def put_schedule(
        self, pool: str, definition: ScheduleDefinition, due_ms: int | None, *, seen: str = ANY, who: str = ""
    ) -> str:
        """Define a schedule; returns OK, REPEAT, STALE, TAKEN or GONE. ``seen`` is the version that was read, or NEW.

        Raises TooMany. A paused schedule stays paused.
        """
        self.announce(pool)
        word = self.change_schedule(pool, definition.id, "put", definition.encode(), due_ms, seen=seen, who=who)
        if word == "FULL":
            raise TooMany(count=MOST_SCHEDULES + 1, what=f"schedules in the pool {pool}", limit=MOST_SCHEDULES)
        return word

    def change_schedule(
        self,
        pool: str,
        id: str,
        verb: str,
        data: bytes = b"",
        due_ms: int | None = None,
        *,
        seen: str = ANY,
        who: str = "",
    ) -> str:
        """Put, align, pause, resume, orphan, rest or delete; returns OK, REPEAT, STALE or GONE."""
        due = "" if due_ms is None else due_ms
        if data and (ring := conf.keyring()) is not None:
            data = ring.seal(data)
        word: bytes = self._call("schedule", pool, verb, id, seen, due, who[:100], data, MOST_SCHEDULES)
        return word.decode()

    def fire(self, row: ScheduleState, definition: ScheduleDefinition, firing: Firing) -> list[str]:
        """Create the tasks of a tick; returns a word for all (OK, REPEAT, STALE, GONE), then one for each run."""
        runs = [(tick, definition.run_id(tick), definition.start_ms(tick)) for tick in firing.runs]
        next_ms = "" if firing.next_ms is None else firing.next_ms
        seen = (row.version, row.score, next_ms, definition.overlap, firing.missed, "")
        return self._fire(definition, seen, runs)

    def fire_by_hand(self, definition: ScheduleDefinition, run: str, at_ms: int, who: str) -> list[str]:
        """Create one task now, whatever is running, under its own id; a repeated call returns EXISTS."""
        return self._fire(definition, ("", "", "", "allow", 0, who[:100]), [(at_ms, run, "")])

    def backfill(self, definition: ScheduleDefinition, ticks: Sequence[int], who: str) -> list[str]:
        """Create the tasks of past ticks, under the ids that their ticks have: what exists is not created again."""
        runs = [(tick, definition.run_id(tick), "") for tick in ticks]
        return self._fire(definition, ("", "", "", "allow", 0, who[:100]), runs)

    def schedule_log(self, pool: str, id: str) -> list[bytes]:
        """The log of a schedule, oldest line first."""
        found = self.ask_one(pool, lambda client: client.lrange(log_key(self.keys(pool), id), -100, -1))
        return found or []

    def states_of(self, pool: str, ids: Sequence[str]) -> list[str]:
        """The states of tasks; '' for a task that does not exist."""

        def read(client: redis.Redis) -> list[bytes | None]:
            with client.pipeline(transaction=False) as pipe:
                for task_id in ids:
                    pipe.hget(self.keys(pool).task(task_id), "s")
                return executed(pipe)

        return [query_replies.text(state) if isinstance(state, bytes) else "" for state in self.ask(pool, read)]

    def _fire(
        self, definition: ScheduleDefinition, seen: tuple[Any, ...], runs: Sequence[tuple[int, str, int | str]]
    ) -> list[str]:
        flat = [part for run in runs for part in run]
        fields = pushwire.record_fields(definition.push)
        self.lane_patterns.prepare_for(definition.push.pool, (definition.push,))
        reply = self._call("fire", definition.push.pool, definition.id, *seen, len(runs), *flat, *fields)
        endings.tell(endings.read(definition.push.pool, reply[1]))
        return [word.decode() for word in (reply[0], *reply[2:])]

    def _read(self, pool: str, which: str, most: int, id: str = "") -> Schedules:
        return self.answer(pool, self._call("schedules", pool, which, most, id))


def _states(pool: str, rows: Sequence[Any]) -> Iterator[ScheduleState]:
    for raw_id, score, queued, last, flat in rows:
        id, broken = query_replies.text(raw_id), ""
        fields = pairs(flat)
        definition: ScheduleDefinition | None = None
        is_closed = False
        try:
            refuse_sealed("definition", id, text := fields.pop(b"x", b""))
            definition = decode_definition(id, text)
        except NotDecodable:
            broken, is_closed = str(without_key(id)), True
        except Undefined as error:
            broken = str(error)
        if definition is not None and definition.push.pool != pool:
            broken = f"The schedule {id} is that of the pool {definition.push.pool}."
            definition = None
        yield ScheduleState(
            id=id,
            pool=pool,
            score=query_replies.text(score),
            fields={query_replies.text(name): query_replies.text(value) for name, value in fields.items()},
            definition=definition,
            broken=broken,
            is_closed=is_closed,
            queued=queued,
            last_state=query_replies.text(last),
        )
