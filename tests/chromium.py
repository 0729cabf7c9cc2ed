"""Where the browser of the browser tests is."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """The path of a Chromium; `QUEUEOPS_CHROMIUM` wins."""
    return os.environ.get("QUEUEOPS_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
