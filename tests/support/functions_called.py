"""Pytest plugin: a run fails if it has not called each Lua function. `-p tests.support.functions_called` enables it."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.redis.library import functions
from queueops.redis.scripts import Scripts

CALLED: set[str] = set()
_command = Scripts.command


def pytest_configure() -> None:
    """Note each function that this process calls."""

    def noted(scripts: Scripts, name: str) -> tuple[str, str]:
        CALLED.add(name)
        return _command(scripts, name)

    Scripts.command = noted  # type: ignore[method-assign]


class _Controller:
    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A process of pytest-xdist hands over what it called."""
        CALLED.update(getattr(node, "workeroutput", {}).get("called", ()))


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Controller())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the names to the controller, or compare them there."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["called"] = sorted(CALLED)
    elif missing := sorted(functions().keys() - CALLED):
        print(f"\nNo test of this run calls: {', '.join(missing)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
