"""Why a chunk waits: each obstacle is told, also on the command line."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from queueops import control, inspect
from queueops.redis.broker import get_broker
from tests.mapreduce.bench import ChunkDesk
from tests.mapreduce.test_limits import gather, keyed

NEXT = "The chunk is the next one of its task."


@pytest.fixture
def desk(namespace: str) -> ChunkDesk:
    """A pool with one live worker."""
    desk = ChunkDesk(get_broker())
    desk.broker.beat(desk.pool, "w1", {"slots": 4, "busy": 1, "state": "live"})
    return desk


def texts(id: str, *, failed: bool = True) -> list[str]:
    """The checks of a chunk that failed, or passed."""
    return [finding.text for finding in inspect.why(id) if finding.ok is not failed]


def test_a_chunk_tells_why_it_waits(desk: ChunkDesk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.push_mapped("plain", 3)
    assert texts("plain#0") == []
    assert NEXT in texts("plain#0", failed=False)
    assert texts("plain#2") == ["2 chunks of the task come first."]
    control.pause_lane("default", "default")
    control.pause_name("tests.count", "default")
    lane, name = texts("plain#0")
    assert lane == "The task's lane is paused. Its chunks wait, too."
    paused = "All tasks of the name tests.count are paused, for "
    assert name.startswith(paused)
    assert any(text.startswith(paused) for text in texts("plain"))
    control.resume_lane("default", "default")
    control.resume_name("tests.count", "default")
    (lease,) = desk.claim(1)
    desk.fail(lease, delay_ms=3_595_000)
    assert texts(lease.id) == ["The chunk waits for its next attempt: the next one starts in 60 min."]
    control.cancel(["plain"], pool="default")
    assert texts("plain#2") == texts(lease.id) == ["Chunks begin while their task is aggregating."]
    call_command("queue", "why", "plain#2")
    assert "NO  Chunks begin while their task is aggregating.  (cancelled)" in capsys.readouterr().out
    for missing in ("none#2", "plain#99"):
        with pytest.raises(SystemExit):
            call_command("queue", "why", missing)
    assert texts("plain#99") == texts("plain#x") == texts("none#0")
    control.delete(["plain"], pool="default")
    assert texts("plain#2") == texts("plain") == ["The task was deleted and is in the trash."]


def test_a_chunk_tells_which_limit_is_full(desk: ChunkDesk) -> None:
    desk.push_mapped("most", 3, max_parallel=1)
    (lease,) = desk.claim(9)
    assert texts("most#1") == ["2 chunks wait: the task runs at most 1 at once."]
    (runs,) = texts(lease.id, failed=False)
    assert runs.startswith("The chunk has run for ")
    desk.push_mapped("each", 3, per_worker=1)
    desk.claim(9)
    assert texts("each#1") == texts("each")[1:] == ["2 chunks wait: each worker has as many of the task as it may, 1."]
    desk.broker.beat(desk.pool, "w2", {"slots": 4, "busy": 0, "state": "live", "lanes": "other"})
    desk.broker.beat(desk.pool, "w3", {"slots": 4, "busy": 0, "state": "live", "kinds": "!mapreduce"})
    assert texts("each#1") == ["2 chunks wait: each worker has as many of the task as it may, 1."]
    desk.broker.beat(desk.pool, "w4", {"slots": 4, "busy": 0, "state": "live"})
    assert texts("each#1") == []
    gather(desk, 2, m=keyed(1, "user_id=7"), n=keyed(1, "user_id=7"))
    (lease,) = [lease for lease in desk.claim(9) if lease.id[0] in "mn"]
    other = "n" if lease.id[0] == "m" else "m"
    full = f"2 chunks wait for their key user_id=7: 1 of 1 run ({lease.id}). The task is the next one."
    assert texts(f"{other}#0") == [full]
