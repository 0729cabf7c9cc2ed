"""Two hundred kills with random timing: every composite ends, each effect comes once, and nothing is left open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from queueops import get
from tests.faults.conftest import Bench
from tests.faults.processes import ROOT
from tests.faults.trees import CHUNKS, tree
from tests.kernel.picture import Picture, server_of
from tests.support.places import CLUSTER
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

KILLS = int(os.environ.get("QUEUEOPS_TESTS_KILLS", "200"))
KILLS_ON_CLUSTER = KILLS // 4
SEED = int(os.environ.get("QUEUEOPS_TESTS_SEED", "4"))


def test_composites_end_each_once_though_workers_are_killed_two_hundred_times(bench: Bench, place: str) -> None:
    kills = KILLS_ON_CLUSTER if place == CLUSTER else KILLS
    own = {"LEASE": 0.5, "MAX_CRASHES": 1000}  # how often one task is lost is left to chance
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
        "QUEUEOPS_TESTS_SETTINGS": json.dumps(bench.settings | own),
    }
    command = [sys.executable, "-m", "tests.faults.killing", str(kills), str(SEED)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as killing:  # type: ignore[call-overload]
        try:
            pushed = json.loads(killing.stdout.readline())["pushed"]
            open_ones = [*pushed]
            wait_until(lambda: all_succeeded(open_ones), 300, bench.say, every=0.2)
        finally:
            killing.stdin.close()
    trees = [tree(number) for number in range(len(pushed))]
    for task_id, (_, result, _) in zip(pushed, trees, strict=True):
        handle = get(task_id)
        assert handle is not None
        assert handle.result(timeout=60) == result
        progress = handle.progress
        assert progress.done == progress.total
    size = sum(records for _, _, records in trees)
    keys = bench.broker.keys("default")
    assert bench.broker.client.zcard(keys.state("succeeded")) == size
    counts = counted(bench)
    assert (
        sum(count for field, count in counts.items() if field.startswith("tr|") and field.endswith(">succeeded"))
        == size
    )
    assert counts["ch|active>done"] == CHUNKS * sum(number % 3 == 1 for number in range(len(pushed)))
    assert counts["tr|locked>restart"] > kills / 10, "hardly a kill met a task"
    assert server_of(bench.broker, keys.seq).keys(f"{keys.prefix}:task:*#open") == []


def all_succeeded(open_ones: list[str]) -> bool:
    """Whether all tasks have succeeded, each of which must be there; those that have are not asked for again."""
    while open_ones:
        handle = get(open_ones[-1])
        assert handle is not None
        if handle.state != "succeeded":
            return False
        open_ones.pop()
    return True


def counted(bench: Bench) -> Counter[str]:
    """The counters of all minutes."""
    picture = Picture(bench.broker, "default")
    found: Counter[str] = Counter()
    for minute in picture.under("metrics:"):
        found.update({field: int(count) for field, count in picture.hash(f"metrics:{minute}").items()})
    return found
