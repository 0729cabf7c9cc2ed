"""From the map through the chunks to the reduce: each stage begins when the one before has ended, and not sooner."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from queueops.errors import ChunksLost, StaleLease
from queueops.kinds.mapreduce.options import Results
from queueops.model.contracts import Extend, Outcome
from queueops.redis.broker import RedisBroker
from tests.kernel.desk import POOL
from tests.mapreduce.bench import ChunkDesk, numbers_of


def test_a_task_maps_gathers_and_reduces(desk: ChunkDesk) -> None:
    desk.push_mapreduce()
    mapping = desk.lease()
    assert (desk.state("m"), mapping.kind, mapping.phase) == ("mapping", "mapreduce", "")
    desk.write(mapping, [b"1", b"2", b"3"])
    assert desk.claim(5) == []
    assert desk.counts() == (3, 0, 0, 0, 0)
    assert desk.settle(mapping, value=b"3") == "OK"
    assert desk.state("m") == "aggregating"
    chunks = desk.claim(2)
    assert [(lease.id, lease.kind, lease.args, lease.parent_id, lease.root) for lease in chunks] == [
        ("m#0", "chunk", b"1", "m", "m"),
        ("m#1", "chunk", b"2", "m", "m"),
    ]
    assert desk.counts() == (1, 2, 0, 0, 0)
    desk.end_all(chunks)
    desk.end_all(desk.claim(2))
    assert desk.counts() == (0, 0, 0, 3, 0)
    (reducing,) = desk.claim(5)
    assert (reducing.id, reducing.phase, desk.state("m")) == ("m", "reduce", "reducing")
    assert desk.results() == [b"0", b"1", b"2"]
    assert desk.settle(reducing, value=b"3") == "OK"
    assert desk.record("m").result == b"3"
    assert (desk.state("m"), desk.counts()) == ("succeeded", (0, 0, 0, 3, 0))


def test_a_map_without_chunks_goes_to_its_reduce_at_once(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=0)
    assert desk.lease().phase == "reduce"
    assert desk.results() == []


def test_results_come_in_the_order_of_the_map_whatever_the_order_of_their_ends(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=12)
    leases = desk.claim(12)
    desk.end_all(leases[::-1])
    assert desk.results() == [b"%d" % number for number in range(12)]


def test_empty_results_and_empty_data_stay_what_they_are(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=[b"", b"0", b'""', b"false"])
    leases = desk.claim(4)
    assert [lease.args for lease in leases] == [b"", b"0", b'""', b"false"]
    for lease, value in zip(leases, [b"", b"0", b"[]", b"false"], strict=True):
        desk.settle(lease, value=value)
    assert desk.results() == [b"", b"0", b"[]", b"false"]


def test_results_are_read_in_pages_of_bounded_size(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=700)
    desk.process()
    assert desk.results() == [b"%d" % number for number in range(700)]
    number, _, page = desk.broker._call("chunk_results", POOL, "m", 0, 700, 500, 100)
    assert number == len(page) < 70


def test_a_reduce_that_takes_the_first_results_reads_no_others(
    desk: ChunkDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.push_mapped(chunks=700)
    desk.process()
    results = Results(desk.broker, POOL, "m", json.loads)
    pages, call = [], RedisBroker._call

    def spy(self: RedisBroker, script: str, pool: str, *arguments: Any) -> Any:
        pages.append(script)
        return call(self, script, pool, *arguments)

    monkeypatch.setattr(RedisBroker, "_call", spy)
    assert (len(results), pages) == (700, [])
    assert list(islice(results, 250)) == list(range(250))
    assert pages == ["chunk_results"]
    assert sum(1 for _ in results) == 700
    assert pages == ["chunk_results"] * 4


def test_progress_is_what_the_chunks_have_done(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=4)
    assert (desk.record("m").progress, desk.record("m").total) == (0, 4)
    leases = desk.claim(3)
    desk.end_all(leases[:2])
    assert desk.record("m").progress == 2
    desk.fail(leases[2], delay_ms=10**7)
    assert desk.record("m").progress == 2


def test_a_reduce_waits_for_the_last_open_chunk(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    leases = desk.claim(3)
    desk.end_all(leases[:1])
    desk.fail(leases[1], delay_ms=10**7)
    desk.end_all(leases[2:])
    assert (desk.state("m"), desk.counts()) == ("aggregating", (0, 0, 1, 2, 0))
    desk.make_due("m#1")
    desk.tick()
    desk.end_all(desk.claim(1))
    assert desk.state("m") == "pending"


def test_a_map_that_died_half_way_leaves_no_double_chunks(desk: ChunkDesk) -> None:
    desk.push_mapreduce()
    first = desk.lease("w1")
    desk.write(first, 1200)
    desk.expire("m")
    second = desk.lease("w2")
    desk.write(second, 700)
    desk.settle(second, value=b"700", worker="w2")
    assert desk.counts() == (700, 0, 0, 0, 0)
    assert desk.chunk_keys() == 701
    with pytest.raises(StaleLease):
        desk.broker.split(POOL, "m", first.fence, 1200, [b"late"])
    with pytest.raises(StaleLease):
        desk.broker.make_room(POOL, "m", first.fence)


def test_what_is_written_twice_is_there_once(desk: ChunkDesk) -> None:
    desk.push_mapreduce()
    lease = desk.lease()
    desk.broker.make_room(POOL, "m", lease.fence)
    for _ in range(2):
        desk.broker.split(POOL, "m", lease.fence, 0, [b"a", b"b"])
    desk.settle(lease, value=b"2")
    assert desk.counts() == (2, 0, 0, 0, 0)


def test_settling_a_map_twice_says_so_and_changes_nothing(desk: ChunkDesk) -> None:
    desk.push_mapreduce()
    lease = desk.lease()
    desk.write(lease, 2)
    assert desk.settle(lease, value=b"2") == "OK"
    before = desk.everything()
    assert desk.settle(lease, value=b"2") in ("REPEAT", "STALE")
    assert desk.everything() == before


def test_settling_a_chunk_twice_says_so_and_changes_nothing(desk: ChunkDesk) -> None:
    desk.push_mapped()
    lease = desk.lease()
    assert desk.settle(lease) == "OK"
    before = desk.everything()
    assert desk.settle(lease) == "REPEAT"
    assert desk.everything() == before


def test_the_reduce_has_attempts_of_its_own_and_limits_of_its_own(desk: ChunkDesk) -> None:
    desk.push_mapreduce(retries=1, retry="1:1:1:0", timeout_ms=5000, rr=3, rt=7000, rb="9:1:9:0")
    mapping = desk.lease()
    assert (mapping.retries, mapping.timeout_ms, mapping.retry) == (1, 5000, "1:1:1:0")
    desk.settle(mapping, Outcome.ERROR, b"{}", delay_ms=10**7)
    desk.make_due("m")
    desk.tick()
    mapping = desk.lease()
    assert mapping.attempt == 2
    desk.write(mapping, 1)
    desk.settle(mapping, value=b"1")
    desk.process()
    reducing = desk.claim(1)[0] if desk.state("m") == "pending" else None
    assert reducing is None or reducing.attempt == 1
    record = desk.record("m")
    assert (record.retries, record.timeout, record.retry) == (3, 7000, "9:1:9:0")


def test_a_map_that_is_run_again_has_the_limits_of_the_map(desk: ChunkDesk) -> None:
    desk.push_mapped(retries=1, rr=3, rt=7000, chunks=1)
    desk.end_all(desk.claim(1))
    desk.settle(desk.lease(), value=b"1")
    assert desk.restart("map") == "OK"
    lease = desk.lease()
    assert (lease.phase, lease.retries, lease.timeout_ms) == ("", 1, None)


def test_a_reduce_in_back_off_that_is_retried_reduces(desk: ChunkDesk) -> None:
    desk.push_mapped(retries=5, chunks=1)
    desk.end_all(desk.claim(1))
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=10**7)
    assert desk.state("m") == "restart"
    assert desk.told("retry", "m") == "OK"
    assert desk.lease().phase == "reduce"


def test_a_result_that_was_lost_stops_the_reduce(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.process()
    desk.client.delete(f"{desk.keys.task('m')}#1")
    desk.lost.add("m#1")
    with pytest.raises(ChunksLost, match=r"m has lost the records of its chunks \[1\]"):
        desk.results()


# Cancelling


@pytest.mark.parametrize("stage", ["pending", "mapping", "aggregating", "pending reduce", "reducing"])
def test_a_task_is_cancelled_at_every_stage(desk: ChunkDesk, stage: str) -> None:
    desk.push_mapreduce()
    lease = None
    if stage != "pending":
        lease = desk.lease()
        if stage != "mapping":
            desk.write(lease, 2)
            desk.settle(lease, value=b"2")
    if stage in ("pending reduce", "reducing"):
        desk.end_all(desk.claim(2))
        lease = desk.lease() if stage == "reducing" else None
    assert desk.told("cancel", "m", value="enough") == "OK"
    if stage in ("mapping", "reducing"):
        assert desk.extend(lease).cancels == [("m", "enough")]
        assert desk.settle(lease, Outcome.CANCEL, b"enough") == "OK"
    assert (desk.state("m"), desk.record("m").reason) == ("cancelled", "enough")
    assert desk.claim(10) == []


def test_a_map_that_does_not_heed_its_cancellation_does_not_gather(desk: ChunkDesk) -> None:
    desk.push_mapreduce()
    lease = desk.lease()
    desk.write(lease, 2)
    desk.told("cancel", "m", value="enough")
    assert desk.settle(lease, value=b"2") == "OK"
    assert desk.state("m") == "cancelled"
    assert desk.claim(10) == []


def test_those_who_run_chunks_of_a_cancelled_task_are_told_and_give_them_back(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=4)
    one, two, _ = desk.claim(3)
    desk.told("cancel", "m", value="enough")
    assert sorted(desk.client.lrange(desk.keys.wake("w1"), 0, -1)) == [b"cancel m#%d" % number for number in range(3)]
    assert desk.extend(one).cancels == [("m#0", "its task is cancelled")]
    assert desk.settle(one, Outcome.CANCEL, b"told") == "OK"
    assert desk.settle(two) == "OK"
    assert desk.counts() == (2, 1, 0, 1, 0)
    assert desk.state("m") == "cancelled"


def test_a_chunk_that_cancels_itself_has_failed(desk: ChunkDesk) -> None:
    desk.push_mapped(drop="1")
    desk.settle(desk.lease(), Outcome.CANCEL, b"not mine")
    assert (desk.counts(), desk.chunk(0)["y"]) == ((2, 0, 0, 0, 1), "not mine")


def test_holders_of_a_task_without_a_record_are_told(desk: ChunkDesk) -> None:
    desk.push_mapped()
    lease = desk.lease()
    desk.client.delete(desk.keys.task("m"))
    desk.broken.add("m")
    found = desk.exchange(extend=[Extend(lease.id, lease.fence)])
    assert found.cancels == [("m#0", "its task is gone")]
    assert desk.claim(5) == []
    assert desk.client.zscore(desk.keys.state("quarantined"), "m")
    assert desk.told("discard", "m") == "OK"
    desk.broken.clear()
    desk.haunted.add("m")
    desk.tick()
    assert desk.chunk_keys() == 0
    assert numbers_of([]) == []
