"""Test support for tasks: `eager()` runs them at their push, `recorder()` none, `run_worker()` those on a store.

pytest finds the fixtures `queueops` (a clean namespace) and `queueops_worker` by itself: see `queueops.pytest_plugin`.
"""

from queueops.kinds.workflows.testing.environment import WorkflowEnvironment
from queueops.testing.eager import eager
from queueops.testing.namespace import namespace
from queueops.testing.recorder import recorder
from queueops.testing.worker import run_worker

__all__ = ["WorkflowEnvironment", "eager", "namespace", "recorder", "run_worker"]
