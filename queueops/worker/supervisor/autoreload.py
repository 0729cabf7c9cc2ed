"""Autoreload for development: restarts the worker when a file of a loaded module has changed.

A separate process first tries to load the changed project. If that fails, the error is logged, and the worker keeps its
present code until the next change.
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
"""Seconds that the trial process has to set up the project."""
AT_START, MOST_AT_START = "QUEUEOPS_RELOADED_AT_START", 3
"""The most restarts in a row for files saved during a start: a project that writes its own files must not loop."""

logger = logging.getLogger("queueops.worker")


class ChangedFiles:
    """Returns the path of a file that changed, at most once a second."""

    def __init__(self, loaded_at: float = LOADED_AT) -> None:
        """A file saved after ``loaded_at``, while this process started, counts as changed."""
        self._reloader = autoreload.StatReloader()
        self._in_a_row = int(os.environ.get(AT_START, 0))
        since = loaded_at if self._in_a_row < MOST_AT_START else time.time()
        self._times = {
            path: since if since < modified <= time.time() else modified
            for path, modified in self._reloader.snapshot_files()
        }
        self._look_at = time.monotonic() + EVERY

    def __call__(self) -> str:
        """Return the first changed file; an empty string if none changed, or if the project cannot be loaded now."""
        now = time.monotonic()
        if now < self._look_at:
            return ""
        self._look_at = now + EVERY
        changed = [
            (path, modified) for path, modified in self._reloader.snapshot_files() if self._is_new(path, modified)
        ]
        os.environ[AT_START], self._in_a_row = str(self._in_a_row + 1), -1  # only the first look counts
        if not changed:
            return ""
        self._times |= changed
        error = _try_out()
        if error:
            logger.error("%s changed, and can't be loaded; the old code still runs: %s", changed[0][0], error)
        return "" if error else str(changed[0][0])

    def _is_new(self, path: Path, modified: float) -> bool:
        return modified > self._times.setdefault(path, modified)


def _try_out() -> str:
    """Return why the project on disk cannot be set up; an empty string when it can."""
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
    """Replace this process with a new one that has the same arguments."""
    arguments = autoreload.get_child_arguments()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    os.execv(arguments[0], arguments)  # noqa: S606  our own command line
