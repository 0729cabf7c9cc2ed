"""The page of a map-reduce task that has no chunks says why it has none."""

from __future__ import annotations

import pytest
from django.test import Client

from queueops import control
from queueops.model.contracts import Outcome, Settlement
from queueops.redis.broker import get_broker
from tests.support.chunkwork import ChunkWork

pytestmark = pytest.mark.django_db


def test_without_chunks_it_is_told_why(namespace: str, operator: Client) -> None:
    def page() -> str:
        return operator.get("/ops/mapreduce/count/").content.decode()

    work = ChunkWork(get_broker())
    assert "The map has not run yet" in page()
    (lease,) = work.exchange(want=1).leases
    assert "The map is running. No chunk has been written yet." in page()
    work.exchange(settle=[Settlement("count", lease.fence, Outcome.ERROR, b"{}", delay_ms=-1)])
    assert "The map did not end, and wrote no chunk. Retry the task." in page()
    control.retry(["count"])
    work.map([])
    assert page().count("The map made no chunks.") == 2
    (lease,) = work.exchange(want=1).leases
    work.exchange(settle=[Settlement("count", lease.fence, Outcome.SUCCESS, b"0")])
    assert page().count("The map made no chunks.") == 2


def test_how_many_may_fail_is_told_once_it_is_known_how_many_there_are(namespace: str, operator: Client) -> None:
    def page() -> str:
        return operator.get("/ops/mapreduce/count/").content.decode()

    work = ChunkWork(get_broker(), oc="50%", mx=3)
    assert "at most 3 at once" in page()
    assert "may fail" not in page()
    work.map([1, 2, 3, 4])
    assert "at most 3 at once · up to 2 may fail" in page()
