"""What the figures of chunks promise, and from where a task can begin again, at each of its stages."""

from __future__ import annotations

import pytest

from queueops import control, inspect
from queueops.inspect import ChunksView
from queueops.model.contracts import Outcome, Settlement
from queueops.redis.broker import get_broker
from tests.support.chunkwork import POOL, ChunkWork

LATER = 10**7


@pytest.fixture
def work(namespace: str) -> ChunkWork:
    """Ten chunks of which none may fail; five are done."""
    made = ChunkWork(get_broker(), oc="0", r=5)
    made.map(list(range(10)))
    made.done(made.claim(5))
    return made


def view() -> ChunksView:
    found = inspect.chunks_of("count")
    assert found is not None
    return found


def stages() -> tuple[str, ...]:
    found = view()
    return inspect.stages(found.state, found.phase, begun=found.begun, mapped=found.mapped, open=found.open)


def offered_as_allowed() -> None:
    """What is offered is what the engine does: each stage is tried, the harmless ones first."""
    offered = stages()
    for stage in ("reduce", "process", "map"):
        if stage not in offered:
            assert control.restart_from("count", stage).word == "REFUSED", stage
    if offered:
        assert control.restart_from("count", offered[-1]).word == "OK"


def test_time_is_promised_only_while_the_task_gathers(work: ChunkWork) -> None:
    assert view().left_s
    work.fail(work.claim(1))
    assert (view().state, view().left_s) == ("failed", None)
    assert stages() == ("map", "process")
    offered_as_allowed()


def test_no_time_is_promised_while_the_lane_is_paused_and_why_says_so(work: ChunkWork) -> None:
    get_broker().lane(POOL, "default", paused=1)
    assert (view().paused, view().left_s) == (True, None)
    paused = next(finding for finding in inspect.why("count") if finding.verb == "resume_lane")
    assert (paused.ok, paused.target) == (False, "default/default")


def test_a_reduce_that_backs_off_can_be_begun_again_from_anywhere(work: ChunkWork) -> None:
    work.done(work.claim(5))
    assert stages() == ("map", "process", "reduce")
    (lease,) = work.exchange(want=1).leases
    assert stages() == ()
    offered_as_allowed()
    work.exchange(settle=[Settlement("count", lease.fence, Outcome.ERROR, b"{}", delay_ms=LATER)])
    assert view().state == "restart"
    assert stages() == ("map", "process", "reduce")
    offered_as_allowed()


def test_a_map_that_backs_off_can_be_begun_again_and_nothing_else(namespace: str) -> None:
    work = ChunkWork(get_broker(), r=5)
    assert stages() == ()
    (lease,) = work.exchange(want=1).leases
    offered_as_allowed()
    work.exchange(settle=[Settlement("count", lease.fence, Outcome.ERROR, b"{}", delay_ms=LATER)])
    assert stages() == ("map",)
    offered_as_allowed()


def test_a_map_that_was_given_back_can_be_begun_again_and_one_that_never_ran_cannot(namespace: str) -> None:
    work = ChunkWork(get_broker(), r=5)
    offered_as_allowed()
    (lease,) = work.exchange(want=1).leases
    work.broker.begin_map(POOL, "count", lease.fence)
    work.broker.split(POOL, "count", lease.fence, 0, [b"1", b"2"])
    assert control.release(["count"])[0].word == "OK"
    assert (view().state, view().total, stages()) == ("pending", 2, ("map",))
    offered_as_allowed()
    assert stages() == ()
    again = control.restart_from("count", "map")
    assert (again.word, again.detail) == ("REFUSED", "it is pending, and its map has not begun yet")


def test_a_map_that_failed_half_way_left_nothing_to_process(namespace: str) -> None:
    work = ChunkWork(get_broker())
    (lease,) = work.exchange(want=1).leases
    work.broker.split(POOL, "count", lease.fence, 0, [b"1", b"2"])
    work.exchange(settle=[Settlement("count", lease.fence, Outcome.ERROR, b"{}", delay_ms=-1)])
    assert (view().total, stages()) == (2, ("map",))
    offered_as_allowed()


def test_failed_chunks_that_the_reduce_goes_without_count_as_dropped(namespace: str) -> None:
    work = ChunkWork(get_broker(), oc="50%")
    work.map([1, 2, 3, 4])
    claimed = work.claim(4)
    work.fail(claimed[:1])
    assert view().left_out == 0
    work.done(claimed[1:])
    assert (view().phase, view().left_out) == ("reduce", 1)


def test_a_chunk_knows_how_many_there_are(work: ChunkWork) -> None:
    found = inspect.chunk("count", 3)
    assert found is not None
    assert found.of == 10
