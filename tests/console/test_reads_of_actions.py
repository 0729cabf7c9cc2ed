"""What a click on an action reads of the store before it acts: what it needs, and not the page of the task."""

from __future__ import annotations

import pytest
from django.test import Client

from queueops import control, inspect
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk
from tests.support.chunkwork import ChunkWork
from tests.support.monitoring import round_trips

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def words(commands: list[str]) -> list[str]:
    """Their words, without the reading of the list of pools."""
    found = [command.split()[0].upper() for command in commands]
    return [word for word in found if word != "SRANDMEMBER"]


def test_a_retry_reads_the_facts_of_the_task_in_one_round_trip(desk: Desk, operator: Client) -> None:
    desk.push("a")
    control.cancel(["a"])
    operator.get("/ops/tasks/a/")
    asked = round_trips(desk, lambda: operator.post("/ops/tasks/a/_retry", {"pool": "default"}))
    assert desk.state("a") == "pending"
    assert words(asked.sent) == ["HMGET", "ZSCORE", "FCALL"]


def test_a_retry_of_chunks_counts_them_by_the_sizes_of_their_sets(work: ChunkWork, operator: Client) -> None:
    desk = Desk(work.broker)
    counts = inspect.chunks_of(work.id).counts
    assert counts["failed"] == 2
    operator.get(f"/ops/mapreduce/{work.id}/")
    asked = round_trips(
        desk, lambda: operator.post(f"/ops/mapreduce/{work.id}/_retry", {"pool": "default", "whole": "failed"})
    )
    assert inspect.chunks_of(work.id).counts["failed"] == 0
    assert words(asked.sent) == ["MULTI", "HGET", *["ZCARD"] * len(counts), "EXEC", "FCALL"]
