"""Attempts, crashes, releases, unknown names: what each costs, and how it ends."""

from __future__ import annotations

import json

import pytest

from queueops.model.contracts import Outcome, Settlement
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import NEVER_MS, POOL, Desk

DAY_MS = 86_400_000


@pytest.mark.parametrize("retries", [0, 1, 2, 10])
@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.TIMEOUT])
def test_n_retries_are_at_most_n_plus_1_attempts(desk: Desk, retries: int, outcome: Outcome) -> None:
    desk.push("a", retries=retries)
    for number in range(1, retries + 2):
        lease = desk.lease()
        assert lease.attempt == number
        desk.settle(lease, outcome, b'{"type":"E"}', delay_ms=NEVER_MS, fingerprint="f1", title="E: no")
        assert desk.state("a") == ("restart" if number <= retries else "failed")
        desk.make_due("a") if number <= retries else None
    assert desk.record("a").attempt == retries + 1
    lines = [json.loads(line) for line in desk.client.lrange(desk.keys.log("a"), 0, -1)]
    assert [line["attempt"] for line in lines if line["k"] == "error"] == list(range(1, retries + 2))


def test_an_error_that_is_not_to_be_retried_ends_the_task(desk: Desk) -> None:
    desk.push("a", retries=5)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1)
    assert desk.state("a") == "failed"


@pytest.mark.parametrize("outcome", [Outcome.RELEASE, Outcome.UNKNOWN, Outcome.RESTART])
def test_what_is_given_back_costs_nothing(desk: Desk, outcome: Outcome) -> None:
    desk.push("a")
    for _ in range(5):
        lease = desk.lease()
        assert (lease.attempt, lease.crashes) == (1, 0)
        desk.settle(lease, outcome, b"why", delay_ms=NEVER_MS)
        desk.make_due("a") if desk.state("a") == "postponed" else None


def test_a_counted_restart_costs_an_attempt(desk: Desk) -> None:
    desk.push("a", retries=1)
    for state in ("postponed", "failed"):
        desk.settle(desk.lease(), Outcome.RESTART, delay_ms=NEVER_MS, counted=True)
        assert desk.state("a") == state
        desk.make_due("a") if state == "postponed" else None


@pytest.mark.parametrize("counted", [False, True])
def test_a_restart_by_itself_leaves_a_line_in_the_log_with_its_worker(desk: Desk, counted: bool) -> None:
    desk.push("a", retries=2)
    lease = desk.lease("w7")
    desk.settle(lease, Outcome.RESTART, b"not yet", "w7", delay_ms=NEVER_MS, counted=counted)
    (raw,) = desk.client.lrange(desk.keys.log("a"), 0, -1)
    line = json.loads(raw)
    assert (line["k"], line["worker"], line["text"]) == ("restart", "w7", "not yet")
    assert line["begun"] <= line["t"] <= desk.now()
    assert line.get("attempt") == (1 if counted else None)


def test_the_back_off_is_what_the_settlement_says(desk: Desk) -> None:
    desk.push("a", retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=123_456)
    assert desk.record("a").due == pytest.approx(desk.now() + 123_456, abs=1000)
    assert desk.client.zscore(desk.keys.agenda, "a") == desk.record("a").due


@pytest.mark.parametrize("limit", [1, 3])
def test_a_task_that_kills_its_worker_fails_after_max_crashes(make_desk: MakeDesk, limit: int) -> None:
    desk = make_desk(max_crashes=limit)
    desk.push("a", retries=100)
    for number in range(1, limit + 1):
        desk.lease()
        desk.make_due("a")
        desk.tick()
        assert desk.state("a") == ("failed" if number == limit else "restart")
        desk.make_due("a") if number < limit else None
    record = desk.record("a")
    assert (record.crashes, record.attempt) == (limit, 0)
    assert record.reason.startswith(f"lost its worker {limit} times")


def test_crashes_and_attempts_are_counted_apart(desk: Desk) -> None:
    desk.push("a", retries=1)
    desk.lease()
    desk.expire("a")
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=NEVER_MS)
    desk.make_due("a")
    lease = desk.lease()
    assert (lease.attempt, lease.crashes) == (2, 1)


def test_those_who_went_down_together_come_back_apart(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(20)])
    desk.claim(20)
    desk.make_due(*[f"t{number}" for number in range(20)])
    desk.tick()
    dues = sorted(desk.record(f"t{number}").due for number in range(20))
    assert len(set(dues)) > 15
    assert 300 < dues[-1] - dues[0] < 1100
    desk.put_off(*[f"t{number}" for number in range(20)])


def test_a_worker_that_died_is_judged_for_what_ran_and_released_for_the_rest(desk: Desk) -> None:
    desk.push("ran", "held", "kept", "other")
    ran, _, kept = desk.claim(3, "w1")
    other = desk.claim(1, "w2")[0]
    running = {"ran": Settlement("ran", ran.fence, Outcome.CRASH, b"killed by signal 9")}
    assert desk.broker.recover(POOL, "w1", running, [("kept", kept.fence)]) == 2
    assert desk.states("ran", "held", "kept", "other") == ["restart", "pending", "locked", "locked"]
    assert (desk.record("ran").crashes, desk.record("held").crashes) == (1, 0)
    assert desk.counted("err|tests.noop") == 1
    desk.put_off("ran")
    assert desk.settle(kept) == "OK"
    assert desk.settle(other, worker="w2") == "OK"


@pytest.mark.parametrize("entered", [None, 7])
def test_a_dead_worker_with_more_leases_than_a_batch_loses_all(desk: Desk, entered: int | None) -> None:
    desk.push(*[f"t{number}" for number in range(1200)])
    for _ in range(4):
        leases = desk.claim(150, "w1") + desk.claim(150, "w2")
        if entered:  # all of them at once
            desk.client.zadd(desk.keys.state("locked"), {lease.id: entered for lease in leases})
    assert desk.broker.recover(POOL, "w1", {}) == 600
    assert desk.client.zcard(desk.keys.state("locked")) == 600
    assert desk.counted("err|tests.noop") == 0
    desk.check()
    desk.client.flushall()


def test_a_name_that_no_worker_knows_is_quarantined_in_the_end(make_desk: MakeDesk) -> None:
    desk = make_desk(unknown_after=7 * 86400.0)
    desk.push("a")
    meet_unknown(desk)
    assert desk.state("a") == "postponed"
    make_older(desk, "a", 8 * DAY_MS)
    desk.make_due("a")
    meet_unknown(desk)
    assert desk.state("a") == "quarantined"
    assert desk.record("a").reason == "nobody knows tests.noop"
    assert desk.told("requeue", "a") == "OK"
    assert desk.drain() == ["a"]


def test_a_task_that_was_due_late_has_its_whole_time_to_meet_a_worker_that_knows_it(make_desk: MakeDesk) -> None:
    desk = make_desk(unknown_after=7 * 86400.0)
    desk.push("postponed", delay_ms=NEVER_MS)
    make_older(desk, "postponed", 30 * DAY_MS)
    desk.make_due("postponed")
    meet_unknown(desk)
    assert desk.state("postponed") == "postponed"
    desk.push("again")
    desk.drain()
    make_older(desk, "again", 30 * DAY_MS)
    desk.control("retry", "again")
    meet_unknown(desk)
    assert desk.state("again") == "postponed"


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.RESTART, Outcome.CRASH])
def test_a_task_that_ran_meanwhile_is_known_to_a_worker(make_desk: MakeDesk, outcome: Outcome) -> None:
    desk = make_desk(unknown_after=7 * 86400.0)
    desk.push("a", retries=1)
    meet_unknown(desk)
    make_older(desk, "a", 8 * DAY_MS)
    desk.make_due("a")
    desk.settle(desk.lease(), outcome, delay_ms=NEVER_MS)
    desk.make_due("a")
    meet_unknown(desk)
    assert desk.state("a") == "postponed"


def beat(desk: Desk, *workers: str, state: str = "live") -> None:
    for worker in workers:
        desk.broker.beat(POOL, worker, {"state": state})


def test_a_new_name_is_left_to_a_worker_that_may_know_it_and_what_is_behind_it_is_claimed(desk: Desk) -> None:
    beat(desk, "w1", "w2")
    desk.push("new")
    meet_unknown(desk)
    assert desk.state("new") == "pending"
    desk.push("another")
    desk.push("known", name="tests.known")
    reply = desk.exchange("w1", want=5, idle=True)
    assert [lease.id for lease in reply.leases] == ["known"]
    assert not reply.ready
    assert desk.settle(reply.leases[0]) == "OK"
    assert desk.claim(5, "w1") == []
    leases = desk.claim(5, "w2")
    assert [lease.id for lease in leases] == ["new", "another"]
    assert [desk.settle(lease, worker="w2") for lease in leases] == ["OK", "OK"]


def test_a_worker_that_waits_and_may_know_the_name_is_woken_for_it(desk: Desk) -> None:
    beat(desk, "w1", "w2")
    desk.push("new")
    lease = desk.lease()
    desk.exchange("w2", want=1, idle=True)
    desk.settle(lease, Outcome.UNKNOWN, b"nobody knows tests.noop", delay_ms=NEVER_MS)
    assert desk.client.lrange(desk.keys.wake("w2"), 0, -1) == [b"work"]
    assert desk.drain("w2") == ["new"]


def test_a_name_is_not_handed_to_a_waiting_worker_that_does_not_know_it(desk: Desk) -> None:
    beat(desk, "w1", "w2")
    desk.push("new")
    meet_unknown(desk)
    assert desk.drain("w2") == ["new"]
    desk.exchange("w1", want=1, idle=True)
    desk.push("another")
    assert desk.state("another") == "pending"
    assert desk.drain("w2") == ["another"]


def test_nothing_is_quarantined_while_a_live_worker_may_know_its_name(make_desk: MakeDesk) -> None:
    desk = make_desk(unknown_after=7 * 86400.0)
    desk.push("a")
    meet_unknown(desk)
    make_older(desk, "a", 8 * DAY_MS)
    desk.make_due("a")
    beat(desk, "w2")
    desk.client.delete(desk.keys.prefix + ":unable:w1")  # a minute later
    meet_unknown(desk)
    assert desk.state("a") == "postponed"
    desk.make_due("a")
    assert desk.claim(1, "w1") == []
    assert desk.drain("w2") == ["a"]


@pytest.mark.parametrize("state", ["quiet", "stopping", "silent", "hung"])
def test_a_name_is_not_left_to_a_worker_that_claims_nothing(desk: Desk, state: str) -> None:
    beat(desk, "w1")
    beat(desk, "w2", state=state)
    desk.push("new")
    meet_unknown(desk)
    assert desk.state("new") == "postponed"
    desk.make_due("new")
    assert [lease.id for lease in desk.claim(1, "w1")] == ["new"]


def meet_unknown(desk: Desk) -> None:
    """An old worker claims a task and does not know its name."""
    desk.settle(desk.lease(), Outcome.UNKNOWN, b"nobody knows tests.noop", delay_ms=NEVER_MS)


def make_older(desk: Desk, task_id: str, ms: int) -> None:
    """A task was pushed, and met a worker that does not know it, so long ago."""
    for field in ("c", "uk"):
        if desk.client.hexists(desk.keys.task(task_id), field):
            desk.client.hincrby(desk.keys.task(task_id), field, -ms)


@pytest.mark.parametrize(
    "outcome",
    [Outcome.RELEASE, Outcome.RESTART, Outcome.UNKNOWN, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH, Outcome.CANCEL],
)
@pytest.mark.parametrize("retries", [0, 5])
def test_a_task_whose_cancellation_was_asked_for_ends_as_cancelled_however_it_ends(
    make_desk: MakeDesk, outcome: Outcome, retries: int
) -> None:
    desk = make_desk(max_crashes=1 if not retries else 3)
    desk.push("a", retries=retries)
    lease = desk.lease()
    desk.told("cancel", "a", value="enough")
    desk.settle(lease, outcome, b"enough", fingerprint="f1", title="E: no", counted=True)
    assert (desk.state("a"), desk.record("a").reason) == ("cancelled", "enough")


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.TIMEOUT])
def test_what_a_cancelled_task_raised_is_in_its_log_and_is_no_error(desk: Desk, outcome: Outcome) -> None:
    desk.push("a", retries=0)
    lease = desk.lease()
    desk.told("cancel", "a", value="enough")
    desk.settle(lease, outcome, b'{"type":"E"}', delay_ms=-1, fingerprint="f1", title="E: no")
    record = desk.record("a")
    assert (record.error, record.fingerprint, record.attempt) == (b"", "", 0)
    lines = [json.loads(line) for line in desk.client.lrange(desk.keys.log("a"), 0, -1)]
    assert [line["error"] for line in lines if line["k"] == "error"] == ['{"type":"E"}']
    assert not desk.client.exists(desk.keys.errors, desk.keys.error("f1"), desk.keys.error("f1") + "#tasks")


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.QUARANTINE])
def test_a_cancellation_that_came_too_late_changes_nothing(desk: Desk, outcome: Outcome) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.told("cancel", "a")
    desk.settle(lease, outcome)
    assert desk.state("a") == {"success": "succeeded", "quarantine": "quarantined"}[outcome]


@pytest.mark.parametrize("way", ["release", "requeue", "expire"])
def test_a_wish_to_cancel_survives_no_return_to_the_lane(desk: Desk, way: str) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.told("cancel", "a")
    if way == "expire":
        desk.expire("a")
    elif way == "release":
        desk.control("release", "a")
    else:
        desk.settle(lease, Outcome.QUARANTINE)
        desk.control("requeue", "a")
    assert desk.state("a") == ("pending" if way == "requeue" else "cancelled")
    assert desk.client.hget(desk.keys.task("a"), "x") is None or desk.state("a") == "cancelled"


@pytest.mark.parametrize("how", [Outcome.CRASH, Outcome.RESTART])
def test_a_task_that_fails_by_crashes_or_restarts_does_not_show_the_error_of_an_earlier_attempt(
    desk: Desk, how: Outcome
) -> None:
    desk.push("a", retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, b'{"type":"E"}', delay_ms=NEVER_MS, fingerprint="f1", title="E")
    while desk.state("a") == "restart":
        desk.make_due("a")
        desk.settle(desk.lease(), how, b"gone", delay_ms=NEVER_MS, counted=True)
    record = desk.record("a")
    assert (record.state, record.error) == ("failed", b"")
    assert record.reason.startswith(("lost its worker 3 times", "restarted itself more often"))
    assert json.loads(desk.client.lindex(desk.keys.log("a"), -1))["k"] == str(how)


def test_a_retry_begins_from_the_start_and_keeps_the_log(desk: Desk) -> None:
    desk.push("a", retries=0)
    desk.settle(desk.lease(), Outcome.ERROR, b'{"type":"E"}', fingerprint="f1", title="E")
    before = desk.record("a")
    assert desk.told("retry", "a") == "OK"
    after = desk.record("a")
    assert (after.attempt, after.error, after.fingerprint, after.ended) == (0, b"", "", None)
    assert after.uid > before.uid
    assert desk.client.llen(desk.keys.log("a")) == 2
    assert desk.lease().attempt == 1


def test_an_error_is_listed_while_its_task_is_failed(desk: Desk) -> None:
    desk.push("a", "b")
    for lease in desk.claim(2):
        desk.settle(lease, Outcome.ERROR, fingerprint="f1", title="E: no")
    assert desk.client.zcard(desk.keys.error("f1") + "#tasks") == 2
    assert desk.client.hget(desk.keys.error("f1"), "count") == b"2"
    desk.control("retry", "a")
    desk.control("delete", "b")
    assert desk.client.zcard(desk.keys.error("f1") + "#tasks") == 0
    desk.control("restore", "b")
    assert desk.client.zrange(desk.keys.error("f1") + "#tasks", 0, -1) == [b"b"]
