"""Declared schedules: turns schedules from code or a form into definitions that every watchdog can fire."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from django.conf import settings

from queueops.errors import BadOption, PayloadTooLarge, QueueOpsError, UnknownOption, UnknownTask, advice
from queueops.schedules.definition import LONGEST_ARGUMENTS, ScheduleDefinition, check_schedule_id
from queueops.schedules.schedule import Schedule
from queueops.tasks.by_name import all_tasks
from queueops.tasks.options import Options
from queueops.tasks.task import Task

SORTS = "a task, a class such as a MapReduce, an Iterator or a Chain, or its name"

USUAL = Options()

logger = logging.getLogger("queueops.watchdog")


def define(task: Task[Any, Any, Any], schedule: Schedule, id: str, **origin: str) -> ScheduleDefinition:
    """The definition of a task's schedule.

    Raises BadArguments, NotEncodable, PayloadTooLarge, BadId, BadOption and UnknownOption.
    """
    _refuse_what_runs_have(task)
    push = task.planned(schedule.args, dict(schedule.kwargs))
    if len(push.args) > LONGEST_ARGUMENTS:
        raise PayloadTooLarge(what="arguments", name=f"the schedule {id}", size=len(push.args), limit=LONGEST_ARGUMENTS)
    timetable = schedule.timetable()
    return ScheduleDefinition(
        id=check_schedule_id(id),
        line=timetable.line,
        zone=timetable.zone,
        push=push,
        jitter_ms=schedule.jitter_ms,
        catch_up=schedule.catch_up,
        overlap=str(schedule.overlap),
        **origin,
    )


def _refuse_what_runs_have(task: Task[Any, Any, Any]) -> None:
    """Refuse an id or a time, which the runs of a schedule set themselves."""
    for name in ("id", "delay"):
        if getattr(task.options, name) != getattr(USUAL, name):
            raise UnknownOption(what="The task of a schedule", name=name, advice="; each run has its own")


def find_task(named: Any) -> Task[Any, Any, Any]:
    """The task for a name, a task or a class. Raises UnknownTask and BadOption."""
    if not isinstance(named, str):
        task = named if isinstance(named, Task) else getattr(named, "task", None)
        if not isinstance(task, Task):
            raise BadOption(name="task", value=named, expected=SORTS)
        return task
    tasks = {task.name: task for task in all_tasks()}
    if named not in tasks:
        raise UnknownTask(name=named, advice=advice(named, tasks))
    return tasks[named]


def task_names() -> list[str]:
    """The names of all tasks that can be scheduled, sorted."""
    return sorted(task.name for task in all_tasks())


def declared() -> list[ScheduleDefinition]:
    """The schedules in the code. An invalid one is logged, and does not affect the others."""
    found = []
    for task, schedule in scheduled_tasks():
        try:
            found.append(define_code(task, schedule))
        except QueueOpsError as error:
            logger.error("the schedule of the task %s cannot be kept: %s", task.name, error)
    return found


def define_code(task: Task[Any, Any, Any], schedule: Schedule) -> ScheduleDefinition:
    """The definition of a schedule in the code; its id is the task's name."""
    return define(task, schedule, task.name, source="code", origin=str(settings.SETTINGS_MODULE or ""))


def scheduled_tasks() -> Iterator[tuple[Task[Any, Any, Any], Schedule]]:
    """The tasks with a schedule in the code."""
    for task in all_tasks():
        if task.schedule is not None:
            yield task, task.schedule
