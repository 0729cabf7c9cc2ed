"""A worker and a watchdog whose Lua library the store refuses end with the reason, and do not try for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.conftest import Bench

KIND = 'from queueops.model.kind import Kind\nclass Refused(Kind):\n    name = "refused"\nKIND = Refused()\n'
FILES = {
    "refused-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: refused\nVersion: 1.0\n",
    "refused-1.0.dist-info/entry_points.txt": "[queueops.kinds]\nrefused = refused_kind:KIND\n",
    "refused_kind/__init__.py": KIND,
    "refused_kind/lua/lib/refused.lua": "\nlocal a =\n",
}


@pytest.fixture
def refused(tmp_path: Path, real_starts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes of the test have a kind with a mistake in its Lua."""
    for name, text in FILES.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    given = filter(None, [os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "packages"), *given]))


@pytest.mark.parametrize("arguments", [(), ("--pool", "default", "--pool", "other"), ("--processes", "2")])
def test_a_worker_ends_with_the_reason(bench: Bench, refused: None, arguments: tuple[str, ...]) -> None:
    worker = bench.worker(*arguments)
    assert worker.wait() == 1
    assert "The worker cannot begin: The store refuses the Lua library of QueueOps: " in worker.text()
    assert "Correct lib/refused.lua, line 3, or uninstall" in worker.text()
    assert "did not answer" not in worker.text()


def test_a_watchdog_ends_with_the_reason(bench: Bench, refused: None) -> None:
    watchdog = bench.watchdog()
    assert watchdog.wait() == 1
    assert "CommandError: The store refuses the Lua library of QueueOps: " in watchdog.text()
    assert "Correct lib/refused.lua, line 3, or uninstall" in watchdog.text()
