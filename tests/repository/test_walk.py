"""The walk: which functions one plain task passes, in its producer and in its worker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.benchmarks.server import running
from tests.benchmarks.systems import OURS
from tests.repository.walk import walk

MOST_FUNCTIONS, MOST_FILES = 195, 57
"""Of one plain task. A few more pass when a lane is asked again, or a time limit is looked at."""


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_a_walk_has_the_way_of_one_task_in_both_processes(tmp_path: Path) -> None:
    with running("redis", append_only=False, folder=tmp_path) as server:
        found = walk(OURS, server, tmp_path)
    producer, worker = {file for file, _ in found.producer}, {file for file, _ in found.worker}
    assert {"tasks/task.py", "redis/broker/push.py", "results/handle.py"} <= producer
    assert {"worker/loop/main_loop.py", "worker/execution/execution.py", "tasks/handlers.py"} <= worker
    assert not {"tasks/task.py", "results/handle.py"} & worker
    passed = {"functions": len(found.functions), "files": len(found.files)}
    assert passed["functions"] <= MOST_FUNCTIONS, f"a shorter way is wanted: {passed}"
    assert passed["files"] <= MOST_FILES, f"a shorter way is wanted: {passed}"
