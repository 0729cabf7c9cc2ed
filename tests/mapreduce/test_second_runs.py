"""A chunk that takes long is run a second time on demand: the run that ends well first counts, the other is refused."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Lease, Outcome
from tests.kernel.desk import POOL, end
from tests.mapreduce.bench import ChunkDesk

LATER = 10**7


@pytest.fixture
def runs(desk: ChunkDesk) -> tuple[Lease, Lease]:
    """The first run, by w1, and the second one, by w2, of the only chunk, in a task that may run one at once."""
    desk.push_mapped(chunks=2, max_parallel=1)
    first = desk.lease("w1")
    assert desk.mend("speculate", 0, who="anna") == 1
    second = desk.lease("w2")
    assert (second.id, second.kind, second.args, second.parent_id, second.name) == (
        "m#0~",
        "chunk",
        b"0",
        "m",
        first.name,
    )
    assert desk.counts() == (1, 1, 0, 0, 0)
    desk.check()
    return first, second


def test_when_the_second_run_ends_first_it_counts(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    first, second = runs
    assert desk.settle(second, value=b"second", worker="w2") == "OK"
    assert desk.client.lrange(desk.keys.wake("w1"), 0, -1) == [b"cancel m#0"]
    assert desk.settle(first, value=b"first") == "STALE"
    assert desk.extend(first).lost == ["m#0"]
    assert desk.settle(second, worker="w2") == "GONE"
    row = desk.chunk(0)
    assert (row["s"], row["re"], row["w"]) == ("done", "second", "w2")
    desk.process()
    desk.reduce()


def test_when_the_first_run_ends_first_it_counts(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    first, second = runs
    assert desk.settle(first, value=b"first") == "OK"
    assert desk.client.lrange(desk.keys.wake("w2"), 0, -1) == [b"cancel m#0~"]
    assert desk.settle(second, value=b"second", worker="w2") == "GONE"
    assert desk.extend(second, "w2").lost == ["m#0~"]
    assert desk.chunk(0)["re"] == "first"


def test_both_in_one_call_count_once(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    first, second = runs
    assert desk.exchange(settle=[end(second), end(first)]).settled == ["OK", "STALE"]
    assert desk.counts() == (1, 0, 0, 1, 0)


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.SUCCESS])
def test_a_second_run_that_does_not_end_well_changes_nothing(
    desk: ChunkDesk, runs: tuple[Lease, Lease], outcome: Outcome
) -> None:
    first, second = runs
    assert desk.settle(second, outcome, b"{}", "w2", delay_ms=LATER) == "OK"
    assert (desk.counts(), desk.chunk("0~"), "tw" in desk.chunk(0)) == ((1, 1, 0, 0, 0), {}, False)
    assert desk.mend("speculate", 0) == 1
    assert desk.settle(first) == "OK"


def test_a_first_run_that_errs_leaves_the_second_its_chance(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    first, second = runs
    desk.fail(first, delay_ms=LATER)
    assert desk.settle(second, value=b"2", worker="w2") == "OK"
    assert desk.chunk(0)["re"] == "2"


def test_a_first_run_that_fails_for_good_ends_both(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    first, second = runs
    desk.fail(first)
    assert desk.state("m") == "failed"
    assert desk.settle(second, worker="w2") == "GONE"


def test_a_second_run_whose_worker_dies_is_forgotten(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    first, second = runs
    desk.make_due("m#0~")
    desk.tick()
    assert (desk.chunk("0~"), desk.chunk(0)["s"]) == ({}, "active")
    assert desk.mend("speculate", 0) == 1
    again = desk.lease("w3")
    assert desk.broker.recover(POOL, "w3", {}) == 1
    assert desk.settle(again, worker="w3") == "GONE"
    assert desk.settle(second, worker="w2") == "GONE"
    assert desk.settle(first) == "OK"


def test_a_first_run_whose_worker_dies_goes_on_in_the_second(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    _, second = runs
    desk.make_due("m#0")
    desk.tick()
    assert desk.settle(second, value=b"2", worker="w2") == "OK"
    assert desk.counts() == (1, 0, 0, 1, 0)


def test_a_second_run_is_extended_as_any_lease(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    _, second = runs
    assert desk.extend(second, "w2").lost == []
    desk.told("cancel", "m")
    assert desk.extend(second, "w2").cancels == [("m#0~", "its task is cancelled")]


def test_there_is_one_second_run_at_most_and_only_of_what_runs(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2)
    desk.lease()
    assert desk.mend("speculate", 0) == 1
    assert desk.broker.mend_chunks(POOL, "m", "speculate", [0, 1]).refused == {0: "active", 1: "pending"}


def test_a_second_run_that_was_not_begun_is_dropped_with_the_first(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1)
    lease = desk.lease()
    desk.mend("speculate", 0)
    desk.settle(lease)
    assert [found.phase for found in desk.claim(5)] == ["reduce"]


def test_a_chunk_that_is_ready_again_has_no_use_for_a_second_run(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1, lane="one")
    desk.lease()
    desk.mend("speculate", 0)
    desk.mend("release", 0)
    desk.broker.lane(POOL, "one", paused=None)
    found = desk.claim(5, "w2")
    assert sorted(lease.id for lease in found) in (["m#0"], ["m#0", "m#0~"])


def test_purging_takes_second_runs_along(desk: ChunkDesk, runs: tuple[Lease, Lease]) -> None:
    desk.told("cancel", "m")
    desk.make_due("m")
    for _ in range(3):
        desk.tick()
    assert (desk.chunk_keys(), desk.state("m")) == (0, "")
    assert desk.settle(runs[1], worker="w2") == "GONE"
