"""For the tests of one's own tasks: `eager()` needs no store, `run_worker()` runs what was pushed.

The pytest plugin `queueops.testing.plugin` gives the fixtures `queueops` (a clean namespace) and `queueops_worker`.
"""

from queueops.testing.eager import eager
from queueops.testing.worker import run_worker

__all__ = ["eager", "run_worker"]
