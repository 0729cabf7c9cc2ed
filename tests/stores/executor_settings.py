"""Settings of the processes in which an example executor runs the tasks of the conformance suite."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "queueops.testing.executor_tasks"]
