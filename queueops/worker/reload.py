"""Reloading on code change, for development: has a file of a loaded module changed since the last look?"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from django.utils import autoreload

EVERY = 1.0


class ChangedFiles:
    """Answers the path of a file that changed, at most once a second."""

    def __init__(self) -> None:
        self._reloader = autoreload.StatReloader()
        self._times: dict[Path, float] = dict(self._reloader.snapshot_files())
        self._look_at = time.monotonic() + EVERY

    def __call__(self) -> str:
        """The first changed file, or an empty string."""
        now = time.monotonic()
        if now < self._look_at:
            return ""
        self._look_at = now + EVERY
        for path, modified in self._reloader.snapshot_files():
            before = self._times.setdefault(path, modified)
            if modified > before:
                return str(path)
        return ""


def start_again() -> None:
    """Replace this process by a fresh one with the same arguments."""
    arguments = autoreload.get_child_arguments()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(arguments[0], arguments)  # noqa: S606  our own command line
