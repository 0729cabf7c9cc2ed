"""The project that the workers of the fault tests run in: short leases, and what else a test asks for."""

import json
import os

from queueops.redis import library
from tests.settings import *  # noqa: F403
from tests.settings import DATA, INSTALLED_APPS, QUEUEOPS
from tests.support.servers import use_chosen

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults", "tests.soak"]
QUEUEOPS = QUEUEOPS | json.loads(os.environ.get("QUEUEOPS_TESTS_SETTINGS", "{}"))
MEDIA_ROOT = str(DATA / "media")  # where jobs store what they download
TASKS = {"default": {"BACKEND": "queueops.contrib.django_tasks.QueueOpsBackend", "QUEUES": []}}

if level := os.environ.get("QUEUEOPS_TESTS_TASK_LEVEL"):  # of the lines about each task
    LOGGING = {"version": 1, "disable_existing_loggers": False, "loggers": {"queueops.tasks": {"level": level}}}

if newer := os.environ.get("QUEUEOPS_TESTS_LIBRARY"):  # another version of the Lua library, as in a deploy
    tables = library.state_tables()
    library.state_tables = lambda: f"{tables}-- {newer}\n"

use_chosen()  # a process that finds the store gone starts it again

if dsn := os.environ.get("QUEUEOPS_TESTS_SENTRY"):
    from queueops.worker.execution import slot
    from tests.observing import set_up

    slot.MIN_MARGIN = 30.0  # on a busy machine the first report to Sentry takes longer than the second of a task
    INSTALLED_APPS += ["tests.observing", "queueops.contrib.sentry", "queueops.contrib.opentelemetry"]
    set_up.both(dsn, os.environ["QUEUEOPS_TESTS_SPANS"])
