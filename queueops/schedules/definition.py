"""Stored schedule: its definition is opaque to the scripts, its state is written by them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from queueops.errors import BadOption, NotDecodable, QueueOpsError
from queueops.model.contracts import Push
from queueops.model.ids import check_id
from queueops.model.sentences import say
from queueops.schedules.cron import Timetable, read_timetable

LONGEST_ID = 165
"""Maximum characters: a run's id is the schedule's id and its time."""
LONGEST_ARGUMENTS = 16 * 1024
"""Maximum bytes: lists of schedules read all of them."""
NEW, ANY = "new", ""
"""Versions of a schedule for compare-and-set: there is none yet, or any."""


class Undefined(QueueOpsError, ValueError):
    """The definition of the schedule {id} cannot be read: {reason}"""

    id: str
    reason: str


class ScheduleDefinition(msgspec.Struct, kw_only=True, omit_defaults=True):
    """When a task is pushed, and which. `push` is the task as data: the watchdog that fires it does not need its code.

    `source` is code, console or api; `origin` is the settings module of the project whose code declares it.
    """

    id: str
    line: str
    zone: str
    push: Push
    jitter_ms: int = 0
    catch_up: str = "once"
    overlap: str = "allow"
    source: str = "api"
    origin: str = ""

    def timetable(self) -> Timetable:
        """The schedule's ticks. Raises BadSchedule and BadZone."""
        return read_timetable(self.line, self.zone)

    def run_id(self, tick_ms: int) -> str:
        """The id of a tick's task: the same for each watchdog that fires it, at any time."""
        moment = datetime.fromtimestamp(tick_ms // 1000, UTC)
        return f"{self.id}@{moment:%Y-%m-%dT%H:%M:%SZ}"

    def start_ms(self, tick_ms: int) -> int:
        """When a tick's task may start: after a pseudo-random delay that is the same for every caller."""
        if not self.jitter_ms:
            return tick_ms
        chance = int.from_bytes(hashlib.sha256(f"{self.id} {tick_ms}".encode()).digest()[:8], "big")
        return tick_ms + chance % (self.jitter_ms + 1)

    def encode(self) -> bytes:
        """The definition as stored."""
        return msgspec.json.encode(self)


def decode_definition(id: str, data: bytes) -> ScheduleDefinition:
    """Decode and check a stored definition. Raises Undefined."""
    try:
        found = msgspec.json.decode(data, type=ScheduleDefinition)
        check_schedule_id(found.id)
        found.timetable()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, QueueOpsError) as error:
        raise Undefined(id=id, reason=str(error)) from error
    if found.id != id:
        raise Undefined(id=id, reason=f"it is that of {found.id}.")
    return found


def without_key(id: str) -> NotDecodable:
    """The error for an encrypted definition that no key of this process opens."""
    reason = "it is encrypted, and QUEUEOPS['ENCRYPTION'] lacks its key. Put the key back, or delete the schedule."
    return NotDecodable(what="definition", name=id, reason=reason)


def check_schedule_id(value: str) -> str:
    """Return a valid schedule id. Raises BadId and BadOption."""
    if len(check_id(value, "id of a schedule")) > LONGEST_ID:
        expected = say("at most %(most)s characters for a schedule", most=str(LONGEST_ID))
        raise BadOption(name="id", value=value, expected=expected)
    return value


class ScheduleState(msgspec.Struct, kw_only=True):
    """A schedule with its state. Times are milliseconds of the epoch; `broken` says why there is no definition.

    `is_closed`: it is encrypted, and this process lacks the key.
    """

    id: str
    pool: str
    score: str
    fields: Mapping[str, str]
    definition: ScheduleDefinition | None
    broken: str
    is_closed: bool
    queued: int
    last_state: str

    @property
    def version(self) -> str:
        """The version for compare-and-set."""
        return self.fields.get("v", "")

    @property
    def due_ms(self) -> int | None:
        """The next tick; None while it does not fire."""
        try:
            return int(float(self.score))
        except (ValueError, OverflowError):  # infinite
            return None

    @property
    def paused_ms(self) -> int | None:
        """When it was paused."""
        return self.moment("pa")

    @property
    def orphaned_ms(self) -> int | None:
        """When it was found missing from the code."""
        return self.moment("og")

    def moment(self, field: str) -> int | None:
        """A number of the state; None if there is none."""
        text = self.fields.get(field, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


class Schedules(NamedTuple):
    """Schedules at a moment of Redis' clock; `next_ms` is the next tick of any of them.

    `put_off`: how many of the due ones have runs that wait for the end of another run.
    """

    now_ms: int
    next_ms: int | None
    put_off: int
    rows: list[ScheduleState]


class Firing(NamedTuple):
    """Plan of a due schedule: the ticks that run, the number of missed ticks without a run, and the next tick."""

    runs: Sequence[int]
    missed: int
    next_ms: int | None
