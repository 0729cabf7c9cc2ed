"""Schedules in code: compares declared with stored schedules. A watchdog stores new schedules at its start."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.conf import settings

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.model.sentences import say
from queueops.schedules.definition import ScheduleDefinition, ScheduleState
from queueops.tasks.declared_schedules import define_code, scheduled_tasks, task_names

Code = Mapping[str, ScheduleDefinition]


def in_code() -> dict[str, ScheduleDefinition]:
    """The schedules that this process's code declares; the system check reports those that cannot be stored."""
    found = {}
    for task, schedule in scheduled_tasks():
        try:
            found[task.name] = define_code(task, schedule)
        except QueueOpsError:
            continue
    return found


def known_names() -> frozenset[str]:
    """The names of all tasks of this process; none in a console that runs without the project's code."""
    return frozenset(task_names())


def note_on(state: ScheduleState, code: Code, names: Collection[str]) -> str:
    """The differences of the code from the store; empty when they agree, and for another store of the console."""
    definition = state.definition
    if definition is None or state.orphaned_ms is not None or conf.store_name():
        return ""
    if names and definition.push.name not in names:
        return say(
            "The code of this console has no task %(name)s. If workers do not have it either, its runs wait, and are"
            " quarantined in the end.",
            name=definition.push.name,
        )
    if definition.source != "code" or definition.origin != str(settings.SETTINGS_MODULE or ""):
        return ""
    if state.id not in code:
        return say("The code does not declare this schedule any more. It stops at the next start of a watchdog.")
    return "" if code[state.id] == definition else _difference(definition, code[state.id])


def unkept(states: Collection[ScheduleState], code: Code) -> tuple[str, ...]:
    """The schedules in code that are not stored yet."""
    kept = {state.id for state in states}
    return tuple(sorted(id for id in code if id not in kept))


def _difference(kept: ScheduleDefinition, code: ScheduleDefinition) -> str:
    names = ("line", "zone", "jitter_ms", "catch_up", "overlap")
    said = [
        f"{name.removesuffix('_ms')} {getattr(code, name)}"
        for name in names
        if getattr(code, name) != getattr(kept, name)
    ]
    what = ", ".join(said) or say("other options or arguments")
    return say("The code differs (%(difference)s). A watchdog stores the change at its next start.", difference=what)
