"""Programs of the machine that tests run: a browser, and nginx."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The headless shell has the same engine without the windows, and needs three fifths of the CPU."""


def find_chromium() -> str | None:
    """The path of a Chromium; `QUEUEOPS_CHROMIUM` wins."""
    return os.environ.get("QUEUEOPS_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def find_nginx() -> str | None:
    """The path of nginx, also where users have no `sbin` in their PATH."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin")
