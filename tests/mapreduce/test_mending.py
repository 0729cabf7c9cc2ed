"""What an operator does to chunks: one, several, or all of a state; what is not possible is refused."""

from __future__ import annotations

import pytest

from queueops import control
from queueops.errors import BadOption, NotEncodable, PayloadTooLarge, TooMany
from queueops.kinds.mapreduce import states
from queueops.kinds.mapreduce.states import ChunkState
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key
from queueops.model.contracts import Outcome
from tests.kernel.desk import POOL, end
from tests.mapreduce.bench import ChunkDesk, numbers_of

LATER = 10**7
VERBS = sorted({verb for verbs in states.CHUNK_ACTIONS.values() for verb in verbs})


def with_one_of_each(desk: ChunkDesk, **own: object) -> None:
    """Chunk 0 is active, 1 errored, 2 done, 3 failed, 4 and 5 pending; the task gathers."""
    desk.push_mapped(chunks=[b'{"n":%d}' % number for number in range(6)], **({"drop": "5"} | own))
    _, errored, done, failed = desk.claim(4)
    desk.fail(errored, delay_ms=LATER)
    desk.settle(done, value=b"2")
    desk.fail(failed)
    assert desk.counts() == (2, 1, 1, 1, 1)


NUMBER = {"active": 0, "errored": 1, "done": 2, "failed": 3, "pending": 4}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", ChunkState)
def test_a_verb_does_what_the_table_of_states_says(desk: ChunkDesk, verb: str, state: ChunkState) -> None:
    with_one_of_each(desk)
    number = NUMBER[state]
    before = desk.everything()
    answer = desk.broker.mend_chunks(POOL, "m", verb, [number], value=b'99:{"n":9}' if verb == "set" else b"9")
    if state in states.CHUNKS.allowing(verb):
        assert (answer.changed, answer.refused) == (1, {})
        return
    assert (answer.changed, answer.refused) == (0, {number: str(state)})
    assert desk.everything() == before


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("stage", ["pending", "mapping", "reducing"])
def test_a_task_that_maps_or_reduces_is_not_touched(desk: ChunkDesk, verb: str, stage: str) -> None:
    desk.push_mapreduce(drop="5")
    if stage == "mapping":
        desk.write(desk.lease(), 3)
    if stage == "reducing":
        desk.map("m", 3)
        for lease in desk.claim(3):
            desk.fail(lease)
        desk.lease()
    answer = desk.broker.mend_chunks(POOL, "m", verb, [0], value=b"9")
    assert answer.changed == (verb == "edit" and stage == "reducing")
    assert answer.state == stage
    assert desk.broker.mend_chunks(POOL, "m", verb, whole="failed", value=b"9").changed == (
        3 if verb == "edit" and stage == "reducing" else 0
    )


def test_what_is_not_there_is_gone(desk: ChunkDesk) -> None:
    desk.push_mapped()
    assert desk.broker.mend_chunks(POOL, "m", "retry", [77]).refused == {77: ""}
    answer = desk.broker.mend_chunks(POOL, "nobody", "retry", [0])
    assert (answer.changed, answer.state) == (0, "")


def test_a_retried_chunk_has_all_its_attempts_again(desk: ChunkDesk) -> None:
    with_one_of_each(desk)
    assert desk.mend("retry", 1, 2, 3) == 3
    row = desk.chunk(1)
    assert (row["s"], row.get("at"), row.get("er")) == ("pending", None, None)
    assert numbers_of(desk.claim(9)) == [1, 2, 3, 4, 5]


def test_what_a_worker_says_of_a_chunk_that_was_released_is_refused(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1)
    lease = desk.lease()
    assert desk.mend("release", 0) == 1
    assert desk.settle(lease) == "STALE"
    again = desk.lease("w2")
    assert desk.settle(lease) == "STALE"
    assert desk.settle(again, worker="w2") == "OK"


@pytest.mark.parametrize("policy", ["", "1"])
def test_retrying_the_failed_chunks_of_a_failed_task_takes_it_up_again(desk: ChunkDesk, policy: str) -> None:
    desk.push_mapped(chunks=4, drop=policy)
    desk.fail(desk.lease())
    if policy:
        desk.fail(desk.lease())
    before = desk.record("m")
    assert before.state == "failed"
    answer = desk.broker.mend_all(POOL, "m", "retry", "failed", who="anna")
    assert (answer.changed, answer.left) == (2 if policy else 1, 0)
    record = desk.record("m")
    assert (record.state, record.reason, record.error, record.ended) == ("aggregating", "", b"", None)
    assert record.uid > before.uid
    desk.process()
    desk.reduce()
    assert desk.results() == [b"0", b"1", b"2", b"3"]
    assert b"anna" in b"".join(desk.client.lrange(desk.keys.log("m"), 0, -1))


def test_a_task_fails_again_over_failed_chunks_that_nobody_mended(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    one, two, three = desk.claim(3)
    desk.fail(one)
    desk.fail(two)
    desk.end_all([three])
    assert (desk.state("m"), desk.mend("retry", 0)) == ("failed", 1)
    desk.end_all(desk.claim(1))
    assert (desk.state("m"), desk.record("m").reason) == ("failed", "chunk 1 failed")


def test_dropping_what_failed_lets_the_task_go_on(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    one, two, three = desk.claim(3)
    desk.fail(one)
    desk.fail(two)
    desk.end_all([three])
    assert desk.mend("drop", 0, who="anna") == 1
    assert desk.chunk(0)["y"] == "dropped by anna"
    assert desk.state("m") == "failed"
    assert desk.mend("drop", 1) == 1
    desk.reduce()
    assert desk.results() == [b"2"]


def test_what_was_dropped_counts_for_itself_alone(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=4)
    desk.fail(desk.lease())
    desk.mend("drop", 0)
    assert (desk.state("m"), desk.field("xd")) == ("aggregating", "1")
    desk.mend("drop", 1)
    assert desk.field("xd") == "2"
    desk.mend("retry", 0, 1)
    assert desk.field("xd") == "0"
    desk.fail(desk.lease())
    assert desk.state("m") == "failed"


def test_a_chunk_that_nobody_let_go_is_never_left_out(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=4)
    zero, one = desk.claim(2)
    desk.fail(zero)
    desk.broker.mend_all(POOL, "m", "drop", "failed", who="anna")
    assert (desk.chunk(0)["dr"], desk.chunk(0)["y"], desk.field("xd")) == ("1", "dropped by anna", "1")
    desk.fail(one)
    assert desk.state("m") == "failed"
    desk.mend("retry", 0)
    assert desk.field("xd") == "0"
    desk.process()
    assert (desk.state("m"), desk.counts()) == ("failed", (0, 0, 0, 3, 1))


@pytest.mark.parametrize(
    ("verb", "state", "counts"),
    [
        ("drop", "errored", (0, 0, 0, 0, 1300)),
        ("skip", "errored", (0, 0, 0, 1300, 0)),
    ],
)
def test_what_is_done_to_all_goes_on_by_itself(desk: ChunkDesk, verb: str, state: str, counts: tuple[int, ...]) -> None:
    errored(desk, 1300)
    answer = desk.broker.mend_chunks(POOL, "m", verb, whole=state, who="anna")
    assert (answer.changed, answer.left, desk.claim(5)) == (200, 1100, [])
    for _ in range(6):
        desk.make_due("~redo:m")
        desk.tick()
    assert (desk.counts(), desk.field("rd")) == (counts, "")
    assert desk.chunk(1299)["y"] in ("dropped by anna", "skipped by anna")
    desk.reduce()


def test_of_two_things_that_are_done_to_all_of_a_state_the_later_one_counts(desk: ChunkDesk) -> None:
    errored(desk, 1300)
    desk.broker.mend_chunks(POOL, "m", "drop", whole="errored")
    desk.broker.mend_chunks(POOL, "m", "retry", whole="errored")
    desk.broker.mend_all(POOL, "m", "retry", "failed")
    assert (desk.counts(), desk.field("xd"), desk.field("rd")) == ((1300, 0, 0, 0, 0), "0", "")


def test_all_chunks_that_wait_can_be_dropped_the_first_one_too(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    assert desk.broker.mend_all(POOL, "m", "drop", "pending").changed == 3
    desk.reduce()
    assert desk.results() == []


def test_letting_all_go_that_failed_marks_each_however_many_there_are(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1300, drop="2000")
    while leases := [lease for lease in desk.claim(500) if lease.kind == "chunk"]:
        desk.exchange(settle=[end(lease, Outcome.ERROR, b"{}", delay_ms=-1) for lease in leases])
        if desk.counts()[0] < 500:
            break
    desk.client.hset(desk.keys.task("m"), "oc", "0")
    desk.fail(desk.lease())
    assert desk.state("m") == "failed"
    answer = desk.broker.mend_all(POOL, "m", "drop", "failed")
    assert (answer.changed, answer.left) == (desk.counts()[4], 0)
    assert desk.state("m") == "aggregating"
    assert desk.field("xd") == str(desk.counts()[4])
    assert desk.chunk(0)["dr"] == "1"


def test_the_longest_run_is_forgotten_when_it_is_run_again(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    leases = desk.claim(3)
    for number in range(3):
        desk.client.hincrby(chunk_key(desk.keys, "m", number), "b", -(3 - number) * 1000)
    desk.end_all(leases)
    assert desk.field("xn") == "0"
    desk.mend("retry", 1)
    assert desk.field("xn") == "0"
    desk.mend("retry", 0)
    assert desk.field("xn") == ""
    desk.end_all(desk.claim(2))
    assert desk.field("xn") in ("0", "1")
    desk.restart("process", states=("done",))
    assert desk.field("xn") == ""


def test_a_skipped_chunk_has_none_as_its_result(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    desk.fail(desk.lease())
    assert desk.mend("skip", 0, who="anna") == 1
    desk.process()
    assert desk.results() == [b"", b"1", b"2"]
    assert desk.chunk(0)["y"] == "skipped by anna"


def test_edited_data_is_what_the_next_run_gets(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2)
    desk.fail(desk.lease(), delay_ms=LATER)
    assert desk.mend("edit", 0, value=b'"new"', who="anna") == 1
    assert desk.counts() == (1, 0, 1, 0, 0)
    assert desk.mend("redo", 0, value=b'"newer"') == 1
    assert desk.lease().args == b'"newer"'
    log = b"".join(desk.client.lrange(desk.keys.log("m#0"), 0, -1))
    assert b"anna" in log
    assert b'"was":"0"' in log


def test_a_running_chunk_cannot_be_edited(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1)
    desk.lease()
    answer = control.edit_chunk("m", 0, "x")
    assert list(control.reasons("edit", answer)) == [(0, "edit is not possible while chunk 0 is active")]
    assert desk.chunk(0)["a"] == "0"


def test_a_task_in_back_off_of_its_reduce_takes_its_chunks_up_again(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2, retries=5)
    desk.process()
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=LATER)
    assert desk.state("m") == "restart"
    assert desk.mend("retry", 1) == 1
    assert desk.state("m") == "aggregating"
    desk.process()
    desk.reduce()


def test_a_repeated_action_is_done_once(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2)
    desk.fail(desk.lease(), delay_ms=LATER)
    call = ("chunks", POOL, "m", "retry", "", "", desk.broker.rules, "anna", "token-1", 0)
    first = desk.broker._call(*call)
    before = desk.everything()
    assert desk.broker._call(*call)[0] == first[0] == 1
    assert desk.everything() == before


# All of a state


def errored(desk: ChunkDesk, chunks: int) -> None:
    desk.push_mapped(chunks=chunks, chunk_retries=5)

    while leases := desk.claim(400):
        desk.exchange(settle=[end(lease, Outcome.ERROR, b"{}", delay_ms=LATER) for lease in leases])
    assert desk.counts()[2] == chunks


def test_retrying_all_goes_on_in_bounded_steps_and_closes_the_lane_meanwhile(desk: ChunkDesk) -> None:
    errored(desk, 1300)
    answer = desk.broker.mend_chunks(POOL, "m", "retry", whole="errored")
    assert (answer.changed, answer.left) == (200, 1100)
    assert desk.claim(5) == []
    desk.make_due("~redo:m")
    assert desk.tick()["redo"] == 1
    assert desk.counts() == (400, 0, 900, 0, 0)
    assert desk.broker.mend_all(POOL, "m", "retry", "errored").left == 0
    assert desk.counts() == (1300, 0, 0, 0, 0)
    assert len(desk.claim(5)) == 5


def test_a_caller_that_dies_half_way_leaves_the_rest_to_others(desk: ChunkDesk) -> None:
    errored(desk, 1300)
    desk.broker.mend_chunks(POOL, "m", "retry", whole="errored")
    desk.make_due("~redo:m")
    for _ in range(8):
        desk.tick()
    assert (desk.counts(), desk.field("rd")) == ((1300, 0, 0, 0, 0), "")


def test_chunks_that_end_meanwhile_do_not_end_the_task(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=600, drop="600")
    desk.process()
    (lease,) = desk.claim(1)
    desk.settle(lease, Outcome.RELEASE)
    desk.restart("map")
    desk.map("m", 601)
    one = desk.lease()
    for _ in range(6):
        desk.end_all(desk.claim(100))
    assert desk.counts() == (0, 1, 0, 600, 0)
    desk.broker.mend_chunks(POOL, "m", "retry", whole="done")
    assert desk.counts() == (200, 1, 0, 400, 0)
    desk.end_all([one])
    assert (desk.state("m"), desk.claim(5)) == ("aggregating", [])
    desk.broker.mend_all(POOL, "m", "retry", "done")
    assert desk.counts() == (601, 0, 0, 0, 0)


@pytest.mark.parametrize(("verb", "state", "left"), [("drop", "errored", 4), ("skip", "errored", 3)])
def test_dropping_and_skipping_all(desk: ChunkDesk, verb: str, state: str, left: int) -> None:
    errored(desk, 1100)
    answer = desk.broker.mend_all(POOL, "m", verb, state)
    assert (answer.changed, answer.left) == (1100, 0)
    assert desk.counts()[left] == 1100
    desk.reduce()


def test_releasing_all(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=700)
    desk.claim(700)
    assert desk.broker.mend_all(POOL, "m", "release", "active").changed == 700
    assert desk.counts() == (700, 0, 0, 0, 0)


def test_a_task_cancelled_while_its_chunks_are_moved_stays_cancelled(desk: ChunkDesk) -> None:
    errored(desk, 900)
    desk.broker.mend_chunks(POOL, "m", "retry", whole="errored")
    desk.told("cancel", "m")
    desk.make_due("~redo:m")
    desk.tick()
    assert (desk.state("m"), desk.field("rd"), desk.claim(5)) == ("cancelled", "", [])
    assert desk.restart("process") == "OK"
    assert desk.counts() == (900, 0, 0, 0, 0)


# The functions of `queueops.control`


def test_the_functions_find_the_task_and_say_what_is_wrong(desk: ChunkDesk) -> None:
    with_one_of_each(desk)
    assert control.retry_chunks("m", [1, 3], who="anna").changed == 2
    assert control.drop_chunks("m", state="pending").changed == 4
    assert control.release_chunks("m", [0]).changed == 1
    assert control.skip_chunks("m", [0]).changed == 1
    answer = control.retry_chunks("m", [0, 99])
    assert dict(control.reasons("retry", answer))[99] == "the task has no chunk 99, or its record is lost"
    assert control.retry_chunks("nobody", [1]).state == ""
    assert control.restart_from("nobody", "map").word == "GONE"


def test_the_functions_refuse_what_makes_no_sense(desk: ChunkDesk) -> None:
    desk.push_mapped()
    with pytest.raises(TooMany, match="501 chunks"):
        control.retry_chunks("m", range(501))
    for numbers in ([-1], ["1"], [True]):
        with pytest.raises(BadOption, match="whole numbers from 0 on"):
            control.retry_chunks("m", numbers)
    with pytest.raises(BadOption, match="one of errored, done, failed"):
        control.retry_chunks("m", state="pending")
    with pytest.raises(BadOption, match="or else a state is"):
        control.retry_chunks("m")
    with pytest.raises(BadOption, match="one of map, process, reduce"):
        control.restart_from("m", "middle")
    with pytest.raises(NotEncodable, match=r"data of chunk 1"):
        control.edit_chunk("m", 1, object())
    with pytest.raises(PayloadTooLarge, match="data of chunk 1"):
        control.edit_chunk("m", 1, "x" * 2_000_000)


@pytest.mark.parametrize("verb", ["retry", "drop", "skip"])
def test_a_task_that_is_over_is_not_taken_up_for_a_state_that_no_chunk_is_in(desk: ChunkDesk, verb: str) -> None:
    desk.push_mapped(chunks=3)
    desk.told("cancel", "m")
    answer = desk.broker.mend_all(POOL, "m", verb, "errored")
    assert (answer.changed, answer.left) == (0, 0)
    assert desk.state("m") == "cancelled"
