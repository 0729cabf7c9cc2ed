"""Reloading on code change, for development: has a file of a loaded module changed since the last look?

What changed is tried in a process of its own first: code that can't be loaded is told of, and the old goes on until
the next change.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

from django.utils import autoreload

from queueops.model.load_time import LOADED_AT

EVERY = 1.0
LONGEST_START = 60.0
"""Seconds for a project to be set up."""
AT_START, MOST_AT_START = "QUEUEOPS_RELOADED_AT_START", 3
"""So often in a row it is started again for what was saved while it started: a project may write such a file itself."""

logger = logging.getLogger("queueops.worker")


class ChangedFiles:
    """Answers the path of a file that changed, at most once a second."""

    def __init__(self, loaded_at: float = LOADED_AT) -> None:
        """What was saved since ``loaded_at``, while this process started, counts as changed."""
        self._reloader = autoreload.StatReloader()
        self._in_a_row = int(os.environ.get(AT_START, 0))
        since = loaded_at if self._in_a_row < MOST_AT_START else time.time()
        self._times = {
            path: since if since < modified <= time.time() else modified
            for path, modified in self._reloader.snapshot_files()
        }
        self._look_at = time.monotonic() + EVERY

    def __call__(self) -> str:
        """The first changed file, or an empty string: also when the project can't be loaded as it is now."""
        now = time.monotonic()
        if now < self._look_at:
            return ""
        self._look_at = now + EVERY
        changed = [
            (path, modified) for path, modified in self._reloader.snapshot_files() if self._is_new(path, modified)
        ]
        os.environ[AT_START], self._in_a_row = str(self._in_a_row + 1), -1  # from the second look on it is none
        if not changed:
            return ""
        self._times |= changed
        error = _try_out()
        if error:
            logger.error("%s changed, and can't be loaded; the old code goes on: %s", changed[0][0], error)
        return "" if error else str(changed[0][0])

    def _is_new(self, path: Path, modified: float) -> bool:
        return modified > self._times.setdefault(path, modified)


def _try_out() -> str:
    """Why the project can't be set up as it is on disk now; an empty string when it can."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import django; django.setup()"],
            env=environment, capture_output=True, text=True, errors="replace", timeout=LONGEST_START, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it was not set up within {LONGEST_START:.0f} s"
    lines = done.stderr.strip().splitlines()
    return (lines[-1] if lines else f"exit status {done.returncode}") if done.returncode else ""


def start_again() -> None:
    """Replace this process by a fresh one with the same arguments."""
    arguments = autoreload.get_child_arguments()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(arguments[0], arguments)  # noqa: S606  our own command line
