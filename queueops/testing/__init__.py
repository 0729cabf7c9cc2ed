"""Test support for tasks: `eager()` needs no store, `run_worker()` runs pushed tasks, in a `namespace()`.

pytest finds the fixtures `queueops` (a clean namespace) and `queueops_worker` by itself: see `queueops.pytest_plugin`.
"""

from queueops.kinds.workflows.testing.environment import WorkflowEnvironment
from queueops.testing.eager import eager
from queueops.testing.namespace import namespace
from queueops.testing.worker import run_worker

__all__ = ["WorkflowEnvironment", "eager", "namespace", "run_worker"]
