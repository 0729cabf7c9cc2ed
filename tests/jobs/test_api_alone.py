"""The API is served by a project that does not have the console."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def test_a_project_without_the_console_serves_the_api(namespace: str, settings: Any) -> None:
    command = [sys.executable, "-m", "tests.jobs.alone", settings.QUEUEOPS["URL"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    status, state, after, heard = json.loads(done.stdout)
    assert (status, state, after) == (201, "pending", "cancelled")
    assert "shop (API token) from 127.0.0.1: cancel" in heard
