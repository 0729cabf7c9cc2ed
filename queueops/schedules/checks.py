"""System check of schedules in the code from which no task can be created."""

from __future__ import annotations

from django.core.checks import CheckMessage, Error

from queueops.errors import QueueOpsError
from queueops.schedules.declare import define_code, scheduled_tasks


def check_schedules() -> list[CheckMessage]:
    """An error for each of them, with what to write."""
    found: list[CheckMessage] = []
    for task, schedule in scheduled_tasks():
        try:
            define_code(task, schedule)
        except QueueOpsError as error:
            hint = "Give the arguments: cron=Schedule(line, args=[...], kwargs={...})."
            found.append(Error(f"The schedule of {task.name}: {error}", hint=hint, id="queueops.E005"))
    return found
