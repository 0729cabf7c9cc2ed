"""Directory made once per run: one process of pytest makes it, the others of the same run wait for it and share it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The directory, which no test may change. It is removed with the run's data. A call that fails makes nothing."""
    run = Path(os.environ["QUEUEOPS_TESTS_DATA"])
    if run.name == os.environ.get("PYTEST_XDIST_WORKER"):
        run = run.parent
    made = run / name
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            begun = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=run))
            make(begun)
            begun.rename(made)
    return made
