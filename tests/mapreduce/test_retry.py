"""A retry of a task that is over goes on where it ended: results of chunks are kept, and nothing is mapped anew."""

from __future__ import annotations

from queueops.model.contracts import Outcome
from tests.kernel.desk import POOL
from tests.mapreduce.bench import ChunkDesk, numbers_of

LATER = 10**7


def failed_over_chunk(desk: ChunkDesk) -> None:
    """Of five chunks 0 and 1 are done, 2 failed, 3 backs off, 4 was not begun."""
    desk.push_mapped(chunks=5)
    one, two, three, four = desk.claim(4)
    desk.end_all([one, two])
    desk.fail(four, delay_ms=LATER)
    desk.fail(three)
    assert (desk.state("m"), desk.counts()) == ("failed", (1, 0, 1, 2, 1))


def test_a_task_that_failed_over_a_chunk_runs_what_is_not_done(desk: ChunkDesk) -> None:
    failed_over_chunk(desk)
    (row,) = desk.broker.control(POOL, "retry", ["m"], who="anna")
    assert (row.word, row.state, row.detail) == ("OK", "aggregating", "its failed chunks run again")
    leases = desk.claim(9)
    assert numbers_of(leases) == [2, 3, 4]
    assert [lease.attempt for lease in leases] == [1, 1, 1]
    desk.end_all(leases)
    desk.reduce()
    assert desk.results() == [b"0", b"1", b"2", b"3", b"4"]


def test_a_task_whose_reduce_failed_reduces_again_with_the_limits_of_the_reduce(desk: ChunkDesk) -> None:
    desk.push_mapped(retries=1, rr=3, drop="1")
    one, *others = desk.claim(3)
    desk.fail(one)
    desk.end_all(others)
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    assert desk.state("m") == "failed"
    (row,) = desk.broker.control(POOL, "retry", ["m"])
    assert (row.state, row.detail) == ("pending", "its reduce runs again")
    lease = desk.lease()
    assert (lease.phase, lease.attempt, lease.retries) == ("reduce", 1, 3)
    assert desk.counts() == (0, 0, 0, 2, 1)


def test_a_succeeded_task_reduces_again(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.process()
    desk.reduce()
    assert desk.told("retry", "m") == "OK"
    desk.reduce()
    assert desk.results() == [b"0", b"1", b"2"]


def test_a_cancelled_task_goes_on_with_the_chunks_that_are_left(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.end_all(desk.claim(1))
    desk.told("cancel", "m")
    assert desk.told("retry", "m") == "OK"
    assert (desk.state("m"), desk.counts()) == ("aggregating", (2, 0, 0, 1, 0))


def test_a_task_whose_map_failed_maps_again(desk: ChunkDesk) -> None:
    desk.push_mapreduce()
    lease = desk.lease()
    desk.write(lease, 3)
    desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=-1)
    assert desk.told("retry", "m") == "OK"
    assert desk.lease().phase == ""


def test_a_map_that_was_asked_for_and_failed_is_not_taken_for_the_one_before_it(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.process()
    desk.reduce()
    assert desk.restart("map") == "OK"
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)  # before it made room
    assert desk.told("retry", "m") == "OK"
    assert desk.lease().phase == ""


def test_a_task_whose_chunks_are_gone_maps_again(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.process()
    desk.reduce()
    desk.told("delete", "m")
    desk.push_mapped(chunks=2)
    desk.told("cancel", "m")
    desk.make_due("m")
    for _ in range(5):
        desk.tick()
    assert desk.told("restore", "m") == "OK"
    assert desk.told("retry", "m") == "OK"
    assert desk.lease().phase == ""


def test_a_failed_chunk_whose_record_is_lost_fails_the_task_again_and_the_answer_says_what_helps(
    desk: ChunkDesk,
) -> None:
    desk.push_mapped(chunks=2)
    (lease,) = desk.claim(1)
    desk.client.delete(f"{desk.keys.task('m')}#1")
    desk.lost.add("m#1")
    desk.end_all([lease])
    desk.claim(1)
    assert desk.state("m") == "failed"
    (row,) = desk.broker.control(POOL, "retry", ["m"])
    assert (row.word, row.state, row.detail) == ("OK", "failed", "a chunk is lost: restart it from its map")


def test_many_tasks_with_many_failed_chunks_are_taken_up_in_bounded_steps(desk: ChunkDesk) -> None:
    names = [f"m{number}" for number in range(4)]
    for name in names:
        desk.push_mapped(name, chunks=300, drop="299")
        for lease in desk.claim(300):
            desk.fail(lease)
    assert desk.states(*names) == ["failed"] * 4
    assert {row.word for row in desk.broker.control(POOL, "retry", names)} == {"OK"}
    assert sum(desk.counts(name)[0] for name in names) == 200
    desk.make_due(*[f"~redo:{name}" for name in names])
    for _ in range(12):
        desk.tick()
    assert [desk.counts(name)[0] for name in names] == [300] * 4
    assert desk.states(*names) == ["aggregating"] * 4


def test_a_task_that_was_cancelled_before_its_map_waits_for_its_time_again(desk: ChunkDesk) -> None:
    desk.push_mapreduce(delay_ms=LATER)
    desk.told("cancel", "m")
    assert desk.told("reinstate", "m") == "OK"
    assert desk.state("m") == "postponed"
    desk.check()


def test_a_task_that_is_reinstated_goes_on_with_the_chunks_that_are_left(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.end_all(desk.claim(1))
    desk.told("cancel", "m")
    (row,) = desk.control("reinstate", "m")
    assert (row.word, row.state) == ("OK", "aggregating")
    assert numbers_of(desk.claim(9)) == [1, 2]
