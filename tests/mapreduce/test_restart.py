"""A task begins again at one of its stages; what runs is left alone."""

from __future__ import annotations

import json

import pytest

from queueops.model.contracts import Outcome
from tests.kernel.desk import POOL
from tests.mapreduce.bench import ChunkDesk

LATER = 10**7


def brought_to(desk: ChunkDesk, stage: str) -> None:
    """A task with three chunks at a stage; where it has failed, that was chunk 0."""
    desk.push_mapreduce(retries=5)
    if stage == "pending":
        return
    if stage == "map in back-off":
        desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=LATER)
        return
    lease = desk.lease()
    if stage in ("map given back", "map put off"):
        desk.broker.begin_map(POOL, "m", lease.fence)
        desk.broker.split(POOL, "m", lease.fence, 0, [b"1", b"2", b"3"])
        desk.settle(lease, Outcome.RELEASE)
        if stage == "map put off":
            desk.told("postpone", "m", value=f"+{LATER}")
        return
    desk.write(lease, 3)
    if stage == "mapping":
        return
    desk.settle(lease, value=b"3")
    if stage == "aggregating":
        desk.end_all(desk.claim(1))
        return
    if stage == "failed":
        desk.fail(desk.lease())
        return
    if stage == "cancelled":
        desk.end_all(desk.claim(1))
        desk.told("cancel", "m")
        return
    desk.process()
    if stage == "waiting for its reduce":
        return
    reducing = desk.lease()
    if stage == "reducing":
        return
    outcome = Outcome.ERROR if stage == "reduce in back-off" else Outcome.SUCCESS
    desk.settle(reducing, outcome, b"{}", delay_ms=LATER)


STAGES = [
    "pending",
    "map in back-off",
    "map given back",
    "map put off",
    "mapping",
    "aggregating",
    "failed",
    "cancelled",
    "waiting for its reduce",
    "reducing",
    "reduce in back-off",
    "succeeded",
]
ALLOWED = {
    "map": set(STAGES) - {"pending", "mapping", "reducing"},
    "process": {"aggregating", "failed", "cancelled", "waiting for its reduce", "reduce in back-off", "succeeded"},
    "reduce": {"waiting for its reduce", "reduce in back-off", "succeeded"},
}


@pytest.mark.parametrize("stage", ALLOWED)
@pytest.mark.parametrize("place", STAGES)
def test_where_a_task_may_begin_again(desk: ChunkDesk, stage: str, place: str) -> None:
    brought_to(desk, place)
    before, state = desk.everything(), desk.state("m")
    row = desk.broker.restart_from(POOL, "m", stage, who="anna")
    if place not in ALLOWED[stage]:
        assert (row.word, row.state) == ("REFUSED", state)
        assert row.detail
        assert desk.everything() == before
        return
    assert row.word == "OK"
    if stage == "map":
        assert desk.field("ph") == ""
        desk.map("m", 2)
        desk.process()
        desk.reduce()
        assert desk.counts() == (0, 0, 0, 2, 0)
        desk.check()
    else:
        desk.process()
        desk.reduce()
        assert desk.counts() == (0, 0, 0, 3, 0)


def test_every_chunk_runs_again_where_that_is_wanted(desk: ChunkDesk) -> None:
    brought_to(desk, "succeeded")
    assert desk.restart("process", states=("failed", "errored", "done")) == "OK"
    assert desk.counts() == (3, 0, 0, 0, 0)


def test_a_succeeded_task_whose_failed_chunks_are_to_run_reduces_again(desk: ChunkDesk) -> None:
    brought_to(desk, "succeeded")
    assert desk.restart("process") == "OK"
    desk.reduce()


def test_a_reduce_does_not_begin_over_chunks_that_failed(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2)
    one, two = desk.claim(2)
    desk.fail(one)
    desk.end_all([two])
    row = desk.broker.restart_from(POOL, "m", "reduce")
    assert (row.word, row.detail) == ("REFUSED", "1 chunks too many have failed: retry or drop them")
    desk.mend("drop", 0)
    desk.reduce()
    assert desk.restart("reduce") == "OK"
    desk.reduce()


def test_a_reduce_does_not_begin_while_chunks_are_open(desk: ChunkDesk) -> None:
    brought_to(desk, "cancelled")
    assert desk.broker.restart_from(POOL, "m", "reduce").detail == "2 of its chunks have not ended"


def test_a_plain_task_has_no_stages(desk: ChunkDesk) -> None:
    desk.push("t")
    assert desk.broker.restart_from(POOL, "t", "map").detail == "it is not a map-reduce task"
    assert desk.broker.restart_from(POOL, "nobody", "map").word == "GONE"


def test_very_many_chunks_are_moved_in_steps_and_none_twice(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2600)
    desk.process()
    desk.reduce()
    assert desk.restart("process", states=("failed", "errored", "done")) == "OK"
    assert desk.counts() == (2600, 0, 0, 0, 0)
    desk.process()
    desk.reduce()
    assert len(desk.results()) == 2600


def test_those_who_run_chunks_are_told_when_the_map_begins_again(desk: ChunkDesk) -> None:
    desk.push_mapped()
    lease = desk.lease("w9")
    desk.restart("map")
    assert desk.client.lrange(desk.keys.wake("w9"), 0, -1) == [b"cancel m#0"]
    desk.map("m", 2)
    assert desk.settle(lease, worker="w9") == "STALE"


def test_the_log_says_which_chunks_ran_again_where_some_were_chosen(desk: ChunkDesk) -> None:
    brought_to(desk, "succeeded")
    for stage in ("process", "map"):
        desk.restart(stage, states=("failed", "errored"))
    told = [json.loads(line) for line in desk.client.lrange(desk.keys.log("m"), 0, -1)]
    assert [(line["verb"], line.get("value")) for line in told if line["k"] == "operator"] == [
        ("restart from process", "failed,errored"),
        ("restart from map", None),
    ]


def test_a_repeated_restart_is_done_once(desk: ChunkDesk) -> None:
    brought_to(desk, "succeeded")
    call = ("restage", POOL, "m", "reduce", "", "token-1", desk.broker.rules, "anna")
    assert desk.broker._call(*call)[0] == b"OK"
    before = desk.everything()
    assert desk.broker._call(*call)[0] == b"REPEAT"
    assert desk.everything() == before
