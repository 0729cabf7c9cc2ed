"""API of tasks: tasks, lanes, names, workers, errors, schedules and runs, with the verbs of the console."""

from queueops.kinds.jobs.api.of_tasks import acting as acting
from queueops.kinds.jobs.api.of_tasks import (
    reading as reading,  # after `acting`: an id may have a slash, and ends a path
)
from queueops.kinds.jobs.api.of_tasks.client import router as router
