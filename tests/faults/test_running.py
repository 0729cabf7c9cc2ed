"""What a worker does for the tasks that run in it, and what it costs while none does."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import msgspec
import pytest

from tests.faults import tasks
from tests.faults.conftest import UNHURRIED, Bench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def test_a_task_that_asks_for_more_time_gets_it(bench: Bench) -> None:
    worker = bench.worker()
    child = worker.child()
    (record,) = bench.wait([tasks.asks_for_more.push(4)])
    assert record.result == b'"in time"'
    assert (record.crashes, record.attempt) == (0, 0)
    assert worker.children() == [child]


@pytest.mark.parametrize("name", ["asks_for_less", "asks_for_less_later", "sets_a_deadline"])
def test_a_task_that_gives_itself_a_nearer_deadline_is_interrupted_then(bench: Bench, name: str) -> None:
    worker = bench.worker()
    child = worker.child()
    (record,) = bench.wait([getattr(tasks, name).push(0.5)], "failed")
    error = msgspec.json.decode(record.error)
    assert error["type"] == "queueops.errors.SoftTimeout"
    assert error["message"].startswith("The task ran longer than its timeout of 0.5")
    assert worker.children() == [child]


def test_the_hard_limit_follows_a_nearer_deadline(bench: Bench) -> None:
    worker = bench.worker()
    child = worker.child()
    (record,) = bench.wait([tasks.sets_a_deadline_and_is_stubborn.push(0.5)], "failed")
    assert msgspec.json.decode(record.error)["type"] == "HardTimeout"
    assert child not in worker.children()


def test_a_deadline_may_be_later_than_the_timeout(bench: Bench) -> None:
    bench.worker()
    (record,) = bench.wait([tasks.sets_a_later_deadline.push()])
    assert record.result == b'"in time"'


@pytest.mark.parametrize("forks", [tasks.forks, tasks.forks_later])
def test_a_process_that_a_task_forked_ends_with_the_code_of_the_task(bench: Bench, forks: Any) -> None:
    worker = bench.worker()
    child = worker.child()
    handles = [forks.push(way) for way in ("returns", "exits", "raises")]
    assert [record.result for record in bench.wait(handles)] == [b"0", b"3", b"1"]
    assert worker.children() == [child]


def test_progress_is_seen_while_the_task_runs_and_no_line_of_its_log_is_lost(bench: Bench) -> None:
    bench.worker()
    bench.ledger.close("seen")
    handle = tasks.talks.push()
    wait_until(lambda: bench.record(handle).progress == 50, say=bench.say)
    assert bench.record(handle).state == "locked"
    bench.ledger.open("seen")
    bench.wait([handle])
    raw = bench.broker.client.lrange(bench.broker.keys("default").log(handle.id), 0, -1)
    lines = [msgspec.json.decode(line) for line in raw]
    assert [line["text"] for line in lines if line["k"] == "log"] == ["half way\nthrough", "the last word"]


def test_after_a_hard_timeout_the_next_attempt_waits_as_its_policy_says(bench: Bench) -> None:
    bench.worker(LEASE=UNHURRIED)
    handle = tasks.stubborn_once.push()
    (record,) = bench.wait([handle])
    assert (record.attempt, record.crashes) == (1, 0)
    assert bench.ledger.starts()[handle.id] == 2


def test_a_lease_is_renewed_for_as_long_as_its_task_runs(bench: Bench) -> None:
    lease = 4.0  # of two processes: one that is only slow for a while keeps what it has
    bench.worker("--processes", "2", LEASE=lease)
    bench.ledger.close("end")
    handles = [tasks.wait_at_gate.push("end"), tasks.wait_at_gate_later.push("end")]
    for handle in handles:
        bench.started(handle)
    client, agenda = bench.broker.client, bench.broker.keys("default").agenda
    twice = max(client.zscore(agenda, handle.id) for handle in handles) / 1000 + lease
    wait_until(lambda: client.time()[0] > twice, say=bench.say)
    bench.ledger.open("end")
    records = bench.wait(handles)
    assert {record.crashes for record in records} == {0}
    assert set(bench.ledger.starts().values()) == {1}


def test_a_pool_is_served_only_by_workers_that_were_told_to(bench: Bench) -> None:
    bench.worker("--pool", "mail")
    mail = tasks.work.using(pool="mail").push()
    other = tasks.work.push()
    wait_until(lambda: bench.broker.record("mail", mail.id).state == "succeeded", say=bench.say)
    assert bench.record(other).state == "pending"


def test_one_worker_serves_several_pools(bench: Bench) -> None:
    bench.worker("--pool", "mail", "--pool", "default")
    mails = [tasks.work.using(pool="mail").push(0.05) for _ in range(20)]
    bench.wait([tasks.work.push(0.05) for _ in range(20)])
    wait_until(lambda: all(bench.broker.record("mail", mail.id).state == "succeeded" for mail in mails), say=bench.say)
    workers = {bench.broker.record("mail", mail.id).worker for mail in mails}
    assert len(workers) == 1, "the worker of the other pool ran them"


def test_work_that_was_fetched_ahead_goes_to_others_when_the_slots_are_stuck(bench: Bench) -> None:
    stuck = bench.worker("--threads", "1")
    stuck.child()
    bench.wait(tasks.work.push_many([(0.0,)] * 300))
    bench.ledger.close("way")
    handles = [tasks.wait_at_gate.push("way"), *tasks.work.push_many([(0.0,)] * 30)]
    bench.started(handles[0])
    bench.worker("--threads", "1")
    bench.wait(handles[1:])
    bench.ledger.open("way")
    bench.wait(handles[:1])


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="this system has no such policy")
def test_a_process_takes_no_processor_from_who_is_running(bench: Bench) -> None:
    worker = bench.worker()
    bench.wait([tasks.work.push()])
    assert os.sched_getscheduler(worker.pid) == os.SCHED_OTHER
    assert os.sched_getscheduler(worker.child()) == os.SCHED_BATCH


def test_an_idle_worker_costs_at_most_one_command_a_second(bench: Bench) -> None:
    bench.worker(LEASE=30.0)
    bench.wait([tasks.work.push()])
    client = bench.broker.client
    client.config_resetstat()
    wait_until(lambda: client.info("commandstats").get("cmdstat_hset", {}).get("calls", 0) > 0, 60)
    commands = client.info("commandstats")
    names = ("fcall", "blpop", "evalsha", "eval", "sadd")
    assert sum(commands.get(f"cmdstat_{name}", {}).get("calls", 0) for name in names) <= 3


def test_a_task_that_is_pushed_alone_to_an_idle_worker_costs_two_calls_of_the_library(bench: Bench) -> None:
    bench.worker(LEASE=30.0)
    bench.wait([tasks.echo.push()])
    client, keys = bench.broker.client, bench.broker.keys("default")
    found = []
    for _ in range(15):
        wait_until(lambda: client.zcard(keys.idle) == 1, 60)
        client.config_resetstat()
        key = keys.task(tasks.echo.push().id)
        wait_until(lambda key=key: client.hget(key, "s") == b"succeeded", 60)
        time.sleep(0.1)  # a call that is not needed would come now
        rows = client.info("commandstats")
        own = {"cmdstat_hget", "cmdstat_zcard", "cmdstat_info", "cmdstat_config|resetstat"}
        found.append((rows["cmdstat_fcall"]["calls"], sum(rows[name]["calls"] for name in rows.keys() - own)))
    calls, commands = min(found)  # a heartbeat, or the renewal of a task that takes longer, may be among the others
    assert calls == 2
    assert commands <= 40


def test_the_limits_of_the_settings_hold_without_a_watchdog(bench: Bench) -> None:
    bench.settings["POOLS"] = {"default": {"lanes": {"one": {"limit": 1}}}}
    handles = tasks.work.using(lane="one").push_many([(0.05,)] * 8)
    bench.worker()
    bench.wait(handles)
    phases = [line.phase for line in bench.ledger.lines()]
    assert phases == ["start", "end"] * 8


def test_the_limit_of_a_pattern_holds_for_each_lane_of_its_own(bench: Bench, settings: Any) -> None:
    pools = {"default": {"lanes": {"tenant-*": {"limit": 1}}}}
    bench.settings["POOLS"] = pools
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": pools}
    lanes = {lane: tasks.work.using(lane=lane).push_many([(0.05,)] * 4) for lane in ("tenant-1", "tenant-2")}
    bench.worker("--processes", "2")
    bench.wait([handle for handles in lanes.values() for handle in handles])
    for handles in lanes.values():
        ids = {handle.id for handle in handles}
        assert [line.phase for line in bench.ledger.lines() if line.id in ids] == ["start", "end"] * 4


def test_each_line_that_a_task_logs_has_its_id_and_its_roots_and_its_start_and_end_are_logged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEOPS_TESTS_TASK_LEVEL", "DEBUG")
    handle = tasks.logs_and_pushes.push(1)
    worker = bench.worker("--burst", "--log-format", "json")
    assert worker.wait() == 0
    events = [json.loads(line) for line in worker.text().splitlines() if line.startswith("{")]
    said = {event["message"]: event for event in events if event["logger"] == "shop"}
    assert [(said[text]["task"] == handle.id, said[text]["root"]) for text in ("depth 1", "depth 0")] == [
        (True, handle.id),
        (False, handle.id),
    ]
    lines = [event for event in events if event["logger"] == "queueops.tasks"]
    ids = (handle.id, said["depth 0"]["task"])
    by_task = sorted(lines, key=lambda event: event["task"])
    assert [(event["task"], event["level"], event.get("outcome")) for event in by_task] == [
        (id, *line) for id in sorted(ids) for line in (("DEBUG", None), ("INFO", "success"))
    ]
    assert {event["root"] for event in lines} == {handle.id}
    assert not any("task" in event for event in events if event["message"].startswith("Worker"))
