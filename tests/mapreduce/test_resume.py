"""A map that is run again goes on where its last attempt ended: what that wrote is not written again, nor twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import MapReduce, Retry, control, inspect
from queueops.errors import StoreFull
from queueops.kinds.mapreduce import chunk_writer
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key, chunk_set
from queueops.kinds.mapreduce.store.storage import ChunkCalls, digest
from queueops.model.contracts import Outcome
from queueops.model.states import State
from queueops.redis.broker import RedisBroker, get_broker
from queueops.results.handle import TaskHandle
from queueops.testing import run_worker
from tests.kernel.desk import POOL
from tests.mapreduce.bench import ChunkDesk

AT_ONCE = Retry(delay=0, jitter=0)
LATER = 10**7


class Listed(MapReduce):
    """The chunks of its first map, of its second, and so on; an exception among them is raised."""

    name = "tests.listed"
    retries, retry = 3, AT_ONCE
    maps: list[Any] = []

    def map(self, *args):
        for each in self.maps.pop(0):
            if isinstance(each, Exception):
                raise each
            yield each

    def process(self, chunk):
        return chunk

    def reduce(self, results):
        return list(results)


@pytest.fixture
def written(namespace: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of the first chunk of each stage that was written, in their order."""
    found: list[int] = []
    split = ChunkCalls.split

    def noted(self: RedisBroker, pool: str, task_id: str, fence: int, first: int, data: Any) -> None:
        found.append(first)
        split(self, pool, task_id, fence, first, data)

    monkeypatch.setattr(ChunkCalls, "split", noted)
    monkeypatch.setattr(chunk_writer, "BATCH_CHUNKS", 500)
    monkeypatch.setattr(chunk_writer, "BATCH_SECONDS", 1e9)
    return found


def mapping_so(*maps: Any) -> TaskHandle[Any]:
    """Push one whose maps yield these, one map after the other."""
    Listed.maps = list(maps)
    return Listed.push()


def until_it_breaks(count: int) -> list[Any]:
    """So many chunks, and an exception."""
    return [*range(count), OSError("the disk is away")]


def log_of(handle: TaskHandle[Any]) -> str:
    detail = inspect.task(handle.id)
    assert detail is not None
    return "\n".join(line.text for line in detail.log)


def test_what_a_map_wrote_before_it_broke_is_not_written_again(written: list[int]) -> None:
    handle = mapping_so(until_it_breaks(1700), range(2300))
    run_worker()
    assert handle.result() == list(range(2300))
    assert written == [0, 500, 1000, 1500, 2000]
    assert "an earlier attempt wrote the first 1,500 chunks: the map continues after them" in log_of(handle)
    assert handle.status().chunks == {"pending": 0, "active": 0, "errored": 0, "done": 2300, "failed": 0}


def test_it_goes_on_as_often_as_it_breaks(written: list[int]) -> None:
    handle = mapping_so(until_it_breaks(600), until_it_breaks(1100), until_it_breaks(1100), range(1200))
    run_worker()
    assert handle.result() == list(range(1200))
    assert written == [0, 500, 1000]


@pytest.mark.parametrize(
    ("again", "stages"),
    [
        ([*range(700), *range(1500, 700, -1), 700], [0, 500, 1000, 500, 1000, 1500]),
        ([9, *range(1, 1700)], [0, 500, 1000, 0, 500, 1000, 1500]),
        (range(1, 1701), [0, 500, 1000, 0, 500, 1000, 1500]),
        (range(800), [0, 500, 1000, 500]),
        (range(500), [0, 500, 1000]),
        ([], [0, 500, 1000]),
    ],
    ids=["other order from chunk 700", "other first chunk", "shifted by one", "fewer", "fewer whole stages", "none"],
)
def test_a_map_that_yields_other_chunks_writes_anew_what_differs_and_leaves_nothing_of_the_old(
    written: list[int], again: Any, stages: list[int]
) -> None:
    handle = mapping_so(until_it_breaks(1700), again)
    run_worker()
    assert handle.result() == list(again)
    assert written == stages
    assert "does not yield the chunks that an earlier attempt wrote: those from" in log_of(handle)
    assert handle.status().chunks["done"] == len(list(again))


def test_chunks_that_read_alike_when_joined_are_told_apart() -> None:
    assert len({digest(data) for data in ([b"1", b"23"], [b"12", b"3"], [b"123"], [b"", b"123"], [])}) == 5


def test_larger_chunks_than_before_are_not_gathered_in_memory(
    written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    held: list[int] = []
    make_room = ChunkCalls.make_room

    def large() -> Iterator[str]:
        for number in range(500):
            taken.append(number)
            yield "x" * 100_000

    def noted(self: RedisBroker, *where: Any) -> None:
        held.append(len(taken))
        make_room(self, *where)

    monkeypatch.setattr(ChunkCalls, "make_room", noted)
    handle = mapping_so(until_it_breaks(600), large())
    run_worker(until_idle=False)
    run_worker(until_idle=False)
    assert (held, handle.status().chunks["pending"], written[:2]) == ([3], 500, [0, 0])


def test_a_map_that_was_cancelled_between_two_attempts_goes_on_when_it_is_retried(written: list[int]) -> None:
    handle = mapping_so(until_it_breaks(1000), range(1200))
    run_worker(until_idle=False)
    assert (handle.cancel("enough"), handle.state) == (True, State.CANCELLED)
    assert handle.retry()
    run_worker()
    assert (handle.result(), written) == (list(range(1200)), [0, 500, 1000])


def test_a_map_that_failed_for_good_goes_on_when_it_is_retried(written: list[int]) -> None:
    handle = mapping_so(*[until_it_breaks(1000)] * 4, range(1200))
    run_worker()
    assert handle.state == State.FAILED
    assert handle.retry()
    run_worker()
    assert (handle.result(), written) == (list(range(1200)), [0, 500, 1000])


STARTS_OVER: dict[str, Callable[[TaskHandle[Any]], object]] = {
    "a restart from the map": lambda handle: control.restart_from(handle.id, "map"),
    "a retry with other arguments": lambda handle: control.edit_and_retry(handle.id, (1,), {}),
}


@pytest.mark.parametrize("begun", STARTS_OVER)
def test_an_operator_who_has_it_map_anew_has_all_of_it_written_anew(written: list[int], begun: str) -> None:
    handle = mapping_so(*[until_it_breaks(1000)] * 4, range(1200))
    run_worker()
    STARTS_OVER[begun](handle)
    run_worker()
    assert (handle.result(), written) == (list(range(1200)), [0, 500, 0, 500, 1000])


# What the store says


def unfinished(desk: ChunkDesk, chunks: int, stage: int = 500) -> None:
    """A map wrote so many chunks, and its worker died."""
    desk.push_mapreduce()
    lease = desk.lease()
    desk.broker.begin_map(POOL, "m", lease.fence)
    for first in range(0, chunks, stage):
        desk.broker.split(POOL, "m", lease.fence, first, [b"1"] * min(stage, chunks - first))
    desk.expire("m")


def begun(desk: ChunkDesk) -> int:
    """The map begins again: so many chunks stand."""
    lease = desk.lease()
    found = desk.broker.begin_map(POOL, "m", lease.fence)
    desk.settle(lease, Outcome.RELEASE)
    return found


def test_a_stage_that_is_written_twice_for_its_answer_was_lost_is_known_once(desk: ChunkDesk) -> None:
    desk.push_mapreduce()
    lease = desk.lease()
    desk.broker.begin_map(POOL, "m", lease.fence)
    for first in (0, 0, 2, 2):
        desk.broker.split(POOL, "m", lease.fence, first, [b"a", b"b"])
    assert list(desk.broker.written_stages(POOL, "m")) == [(2, digest([b"a", b"b"])), (4, digest([b"a", b"b"]))]
    desk.expire("m")
    assert begun(desk) == 4


def test_very_many_stages_are_read_and_deleted_a_part_at_a_time(desk: ChunkDesk) -> None:
    unfinished(desk, 2600, stage=2)
    lease = desk.lease()
    assert desk.broker.begin_map(POOL, "m", lease.fence) == 2600
    assert [end for end, _ in desk.broker.written_stages(POOL, "m")] == list(range(2, 2602, 2))
    assert desk.broker._split(POOL, "m", lease.fence, "cut", 4) == -1
    assert 4 < desk.counts()[0] <= 2100
    desk.broker.make_room(POOL, "m", lease.fence, 4)
    assert ([end for end, _ in desk.broker.written_stages(POOL, "m")], desk.counts()[0]) == ([2, 4], 4)


def test_a_map_that_dies_while_it_deletes_what_differs_leaves_the_rest_to_the_next(desk: ChunkDesk) -> None:
    unfinished(desk, 2000)
    lease = desk.lease()
    assert desk.broker.begin_map(POOL, "m", lease.fence) == 2000
    assert desk.broker._split(POOL, "m", lease.fence, "cut", 500) == -1
    assert desk.counts()[0] == 1500
    desk.expire("m")
    assert begun(desk) == 500
    assert desk.counts() == (500, 0, 0, 0, 0)


def test_a_map_that_dies_while_it_starts_over_is_not_gone_on_with(desk: ChunkDesk) -> None:
    unfinished(desk, 2000)
    desk.told("cancel", "m")
    assert desk.restart("map") == "OK"
    lease = desk.lease()
    assert desk.broker._split(POOL, "m", lease.fence, "begin", 0) == -1
    desk.expire("m")
    assert begun(desk) == 0
    assert desk.chunk_keys() == 0


@pytest.mark.parametrize("loss", ["stages", "pending", "one"])
def test_what_was_written_and_is_not_whole_any_more_is_written_anew(desk: ChunkDesk, loss: str) -> None:
    unfinished(desk, 1000)
    key = chunk_set(desk.keys, "m", "pending" if loss == "one" else loss)
    if loss == "one":
        desk.client.zrem(key, "7")
    else:
        desk.client.delete(key)
    assert begun(desk) == 0
    for number in range(1000):
        desk.client.delete(chunk_key(desk.keys, "m", number))


def test_stages_that_were_lost_meanwhile_do_not_stop_the_map_and_are_not_gone_on_with(desk: ChunkDesk) -> None:
    unfinished(desk, 1000)
    lease = desk.lease()
    assert desk.broker.begin_map(POOL, "m", lease.fence) == 1000
    desk.client.delete(chunk_set(desk.keys, "m", "stages"))
    desk.broker.split(POOL, "m", lease.fence, 1000, [b"1"])
    assert desk.counts()[0] == 1001
    desk.expire("m")
    assert begun(desk) == 0


def test_the_next_run_of_an_id_does_not_go_on_with_the_map_of_the_last_one(desk: ChunkDesk) -> None:
    unfinished(desk, 1000)
    desk.told("cancel", "m")
    desk.push_mapreduce()
    assert begun(desk) == 0


def test_an_unfinished_map_that_expires_takes_its_stages_along(desk: ChunkDesk) -> None:
    unfinished(desk, 700)
    desk.told("cancel", "m")
    desk.make_due("m")
    desk.tick()
    assert desk.told("retry", "m") == "OK"  # in the middle of being deleted
    assert begun(desk) == 0
    desk.told("cancel", "m")
    for _ in range(4):
        desk.make_due("m")
        desk.tick()
    assert desk.chunk_keys() == 0


def test_a_store_that_takes_no_chunks_costs_the_map_no_attempt(
    desk: ChunkDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreFull(reason="no room")

    Listed.maps[:] = [[1, 2]] * 6
    handle = Listed.push()
    for _ in range(5):  # more often than it may fail
        with monkeypatch.context() as patch:
            patch.setattr(get_broker(), "split", refuse)
            run_worker()
        status = handle.status()
        assert status is not None
        assert (status.state, status.attempt) == (State.POSTPONED, 0)
        handle.run_now()
    run_worker()
    assert handle.state == State.SUCCEEDED
    assert Listed.maps == []
