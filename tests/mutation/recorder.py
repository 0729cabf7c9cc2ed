"""Pytest plugin: notes the functions of Python and of the Lua library that each test file runs, and its seconds."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HOME = ROOT / "var" / "mutation"
PRODUCT = (f"{ROOT}/queueops/", f"{ROOT}/console/")
TOOL = 4

runs: dict[str, set[str]] = defaultdict(set)
seconds: dict[str, float] = defaultdict(float)
_here = ""


def _started(code: CodeType, offset: int) -> Any:
    if code.co_filename.startswith(PRODUCT):
        runs[_here].add(f"{code.co_filename.removeprefix(f'{ROOT}/')}::{code.co_qualname}")
    return sys.monitoring.DISABLE  # until the next test file


def pytest_configure() -> None:
    """Count each function once in each test file. Raises for Python below 3.12."""
    from queueops.redis import library
    from queueops.redis.scripts import Scripts

    sys.monitoring.use_tool_id(TOOL, "mutation")
    sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, _started)
    sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
    command = Scripts.command

    def noted(scripts: Scripts, name: str) -> tuple[str, str]:
        runs[_here].update((f"lua::{name}", *(f"lua::{module}" for module in library.modules_of(name))))
        return command(scripts, name)

    Scripts.command = noted  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Begin to count anew with another test file."""
    global _here
    if (file := item.nodeid.partition("::")[0]) != _here:
        _here = file
        sys.monitoring.restart_events()
    begun = time.monotonic()
    try:
        return (yield)
    finally:
        seconds[file] += time.monotonic() - begun


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what this process has seen."""
    if runs:
        HOME.mkdir(parents=True, exist_ok=True)
        worker = getattr(session.config, "workerinput", {}).get("workerid", "main")
        seen = {file: {"runs": sorted(found), "seconds": seconds[file]} for file, found in runs.items() if file}
        (HOME / f"part-{worker}.json").write_text(json.dumps(seen))
