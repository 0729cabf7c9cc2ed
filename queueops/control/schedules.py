"""Actions on schedules. A schedule from the code can be paused, resumed and run; the rest is changed in the code."""

from __future__ import annotations

from typing import Any, NamedTuple

from queueops.errors import ScheduleChanged, ScheduleFromCode, ScheduleInUse, UnknownSchedule
from queueops.model.ids import new_id
from queueops.redis.broker import get_broker, get_role, in_role
from queueops.redis.broker.schedules import RIPE, ScheduleCalls
from queueops.redis.reader import Reader
from queueops.schedules.backfill import backfill_ticks
from queueops.schedules.definition import NEW, ScheduleDefinition, ScheduleState, without_key
from queueops.schedules.schedule import Schedule
from queueops.tasks import push_hooks
from queueops.tasks.declared_schedules import define, find_task

__all__ = [
    "Backfilled",
    "backfill_schedule",
    "check_schedule",
    "create_schedule",
    "delete_schedule",
    "pause_schedule",
    "resume_schedule",
    "run_schedule",
    "update_schedule",
]


def create_schedule(
    task: Any, schedule: Schedule | str, *, id: str = "", source: str = "api", paused: bool = False, who: str = ""
) -> str:
    """Create a schedule for a task, a class such as a MapReduce or a Chain, or a name. Returns its id.

    Raises UnknownTask, BadSchedule, BadZone, BadOption, BadId, BadArguments, NotEncodable, PayloadTooLarge,
    ScheduleInUse and TooMany.
    """
    definition = _new_definition(task, schedule, id, source)
    pool = definition.push.pool
    if (
        get_role(ScheduleCalls).put_schedule(pool, definition, None if paused else _due(definition), seen=NEW, who=who)
        == "TAKEN"
    ):
        raise ScheduleInUse(id=definition.id, pool=pool)
    if paused:
        get_role(ScheduleCalls).change_schedule(pool, definition.id, "pause", who=who)
    return definition.id


def update_schedule(
    id: str, schedule: Schedule | str, *, task: Any = None, seen: str = "", pool: str = "", who: str = ""
) -> bool:
    """Replace a schedule's definition and arguments; `seen` is the version that the user saw, '' for any.

    Without `task` the task stays, with its present options in the code. False if nothing has changed. Raises the errors
    of `create_schedule`, UnknownSchedule, ScheduleFromCode, ScheduleChanged, and NotDecodable without its key.
    """
    state = _known(id, pool)
    definition = _changed_definition(state, task, schedule)
    word = get_role(ScheduleCalls).put_schedule(
        state.pool, definition, _due(definition), seen=seen or state.version, who=who
    )
    _check(word, id)
    return word == "OK"


def check_schedule(task: Any, schedule: Schedule | str, *, id: str = "", changed: bool = False, pool: str = "") -> None:
    """Raise the errors of `create_schedule`, or of `update_schedule` with `changed`; nothing is stored."""
    if changed:
        _changed_definition(_known(id, pool), task, schedule)
    else:
        _new_definition(task, schedule, id, "api")


def pause_schedule(id: str, *, pool: str = "", who: str = "") -> bool:
    """Pause a schedule until it is resumed; deployments do not resume it. False if it is paused already."""
    return _change(_known(id, pool), "pause", who)


def resume_schedule(id: str, *, pool: str = "", who: str = "") -> bool:
    """Resume a schedule, from the next tick on. False if it is not paused. Raises NotDecodable without its key."""
    state = _known(id, pool)
    _refuse_closed(state)
    orphaned = state.definition is None or state.orphaned_ms is not None
    return _change(state, "resume", who, None if orphaned else _due(state.definition))


def delete_schedule(id: str, *, pool: str = "", who: str = "") -> bool:
    """Delete a schedule and its history; the tasks that it created stay. Raises ScheduleFromCode."""
    state = _known(id, pool)
    if state.orphaned_ms is None:
        _refuse_code(state)
    return get_role(ScheduleCalls).change_schedule(state.pool, id, "delete", who=who) == "OK"


def run_schedule(id: str, *, pool: str = "", who: str = "") -> str:
    """Create its task now, whatever else runs; returns the task's id. Raises UnknownSchedule."""
    state = _known(id, pool)
    definition = push_hooks.of_schedule(_definition(state))
    run = f"{id}@now.{new_id()}"
    word, *_ = get_role(ScheduleCalls).fire_by_hand(definition, run, Reader(get_broker()).now_ms(), who)
    if word == "GONE":
        raise UnknownSchedule(id=id)
    return run


class Backfilled(NamedTuple):
    """How many runs a backfill created, and how many existed already."""

    created: int
    existed: int


def backfill_schedule(id: str, since_ms: int, until_ms: int, *, pool: str = "", who: str = "") -> Backfilled:
    """Create the tasks of the ticks of a past range, whatever else runs, also of a paused schedule.

    A run has the id of its tick, so that a tick whose task exists is left out, and a second call creates nothing.
    Raises UnknownSchedule and BadOption.
    """
    state = _known(id, pool)
    definition = _definition(state)
    now_ms = Reader(get_broker()).now_ms()
    definition = push_hooks.of_schedule(definition)
    ticks = backfill_ticks(definition.line, definition.zone, since_ms, until_ms, now_ms)
    made: list[str] = []
    for begin in range(0, len(ticks), RIPE):
        word, *words = get_role(ScheduleCalls).backfill(definition, ticks[begin : begin + RIPE], who)
        _check(word, id)
        made += words
    return Backfilled(made.count("FIRED"), made.count("EXISTS"))


def _definition(state: ScheduleState) -> ScheduleDefinition:
    """What can run. Raises NotDecodable for one whose key is missing, and UnknownSchedule."""
    _refuse_closed(state)
    if state.definition is None:
        raise UnknownSchedule(id=state.id)
    return state.definition


def _new_definition(task: Any, schedule: Schedule | str, id: str, source: str) -> ScheduleDefinition:
    made = find_task(task)
    definition = define(made, _schedule(schedule), id or f"{made.name}.{new_id()[-8:].lower()}", source=source)
    for state in _with_id(definition.id):
        raise ScheduleInUse(id=definition.id, pool=state.pool)
    return definition


def _changed_definition(state: ScheduleState, task: Any, schedule: Schedule | str) -> ScheduleDefinition:
    _refuse_closed(state)
    _refuse_code(state)
    before = state.definition
    made = find_task(task if task is not None else "" if before is None else before.push.name)
    source = "api" if before is None else before.source
    return define(made.using(pool=state.pool), _schedule(schedule), state.id, source=source)


def _schedule(given: Schedule | str) -> Schedule:
    return given if isinstance(given, Schedule) else Schedule(given)


def _known(id: str, pool: str) -> ScheduleState:
    found = _with_id(id, pool)
    if not found:
        raise UnknownSchedule(id=id)
    return next((state for state in found if state.orphaned_ms is None), found[0])


def _with_id(id: str, pool: str = "") -> list[ScheduleState]:
    """The schedules of this id. Raises BrokerUnavailable if a schedule may be in a pool that does not answer."""
    reader = Reader(get_broker())
    names = reader.pools() if not pool else [pool] if reader.knows(pool) else []
    store = in_role(reader.broker, ScheduleCalls)
    found = reader.everywhere(names, lambda names: {name: store.schedule(name, id) for name in names})
    reader.ensure_all()
    return [state for state in found.values() if state is not None]


def _change(state: ScheduleState, verb: str, who: str, due_ms: int | None = None) -> bool:
    word = get_role(ScheduleCalls).change_schedule(state.pool, state.id, verb, b"", due_ms, seen=state.version, who=who)
    _check(word, state.id)
    return word == "OK"


def _check(word: str, id: str) -> None:
    if word == "STALE":
        raise ScheduleChanged(id=id)
    if word == "GONE":
        raise UnknownSchedule(id=id)


def _refuse_closed(state: ScheduleState) -> None:
    if state.is_closed:
        raise without_key(state.id)


def _refuse_code(state: ScheduleState) -> None:
    if state.definition is not None and state.definition.source == "code":
        raise ScheduleFromCode(id=state.id)


def _due(definition: ScheduleDefinition | None) -> int | None:
    return None if definition is None else definition.timetable().after(Reader(get_broker()).now_ms())
