from __future__ import annotations

import json
from collections import Counter

import pytest

from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.inspect.alarms import broken_alarms
from queueops.inspect.answers import Broken
from queueops.inspect.store_health import store_alarms
from queueops.inspect.throughput import flows
from queueops.inspect.workers import MOST_NAMES
from queueops.model.contracts import Outcome, Push
from queueops.redis.redis_cli import addressed
from tests.composites.trees import chain_of, group_of, plant
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk


def write_snapshot(desk: Desk) -> None:
    """What the watchdog does once a second."""
    assert desk.broker.draw("default", "watchdog", 1)


def alarms() -> str:
    return "\n".join(text for alarm in inspect.snapshot().alarms for text in (alarm.text, *alarm.consequences))


def test_an_empty_system_has_figures_and_no_alarm(desk: Desk) -> None:
    found = inspect.snapshot()
    assert found.computed
    assert sum(found.states.values()) == 0
    assert [pool.name for pool in found.pools] == ["default"]
    assert found.alarms == ()
    assert found.redis.aof


def test_the_watchdogs_snapshot_is_read_while_it_is_fresh(desk: Desk) -> None:
    desk.push("a")
    write_snapshot(desk)
    desk.push("b")
    found = inspect.snapshot()
    assert not found.computed
    assert found.states["pending"] == 1
    old = json.loads(desk.broker.sample("default")) | {"taken": desk.now() - 4000}
    desk.client.set(desk.keys.snapshot, json.dumps(old))
    found = inspect.snapshot()
    assert found.computed
    assert found.states["pending"] == 2


def test_counts_flows_and_speeds(desk: Desk) -> None:
    desk.push("a", "b", "c", name="add")
    desk.broker.push([Push(id="m", name="mul", pool="mail")])
    metrics = {"ok|add": 3, "err|add": 1, "run|add|10": 4, "wait|add|4": 4}
    for lease in desk.claim(2):
        desk.settle(lease)
    desk.exchange(metrics=metrics)
    found = inspect.snapshot()
    pools = {pool.name: pool for pool in found.pools}
    assert (found.states["pending"], found.states["succeeded"]) == (2, 2)
    assert found.flows["locked>succeeded"] == pytest.approx(2 / 60, abs=0.01)
    assert pools["default"].failure_rate == pytest.approx(0.25)
    assert pools["default"].run_p95_ms is not None
    assert 2 < pools["default"].run_p95_ms < 6
    assert pools["default"].wait_p95_ms is not None
    assert pools["mail"].drain_s is None
    assert pools["default"].oldest_pending_ms is not None
    assert {(lane.pool, lane.lane, lane.ready) for lane in found.lanes} == {
        ("default", "default", 1),
        ("mail", "default", 1),
    }


def test_a_task_that_is_handed_over_has_waited_and_runs(desk: Desk) -> None:
    assert desk.exchange(want=1, idle=True).leases == []
    desk.push("a")
    assert desk.state("a") == "locked"
    flows = inspect.snapshot().flows
    assert flows[">pending"] == flows["pending>locked"] == pytest.approx(1 / 60, abs=0.01)


def test_a_flow_is_that_of_the_last_sixty_seconds() -> None:
    begun = 7 * 60_000
    counts = {"minute": {"tr|pending>locked": 6}, "before": {"tr|pending>locked": 8}}
    assert flows({"taken": begun, **counts}) == {"pending>locked": round(14 / 60, 3)}
    assert flows({"taken": begun + 15_000, **counts}) == {"pending>locked": round(12 / 60, 3)}


def test_what_runs_is_told_by_name_and_by_lane(desk: Desk) -> None:
    desk.push(*"abc", name="add")
    desk.push("i", name="add", kind="composite")
    desk.push(*"xyz", name="mul", lane="mail")
    desk.push("m", name="mul", lane="mail", kind="mapreduce")
    leases = desk.claim(6)
    desk.settle(leases[0])
    records = [desk.record(lease.id) for lease in leases[1:]]
    running = Counter((record.lane, record.name) for record in records if record and record.state != "idle")
    lanes = {lane.lane: lane.active for lane in inspect.snapshot().lanes}
    assert lanes == {lane: sum(count for (each, _), count in running.items() if each == lane) for lane in lanes}
    for name in ("add", "mul"):
        found = inspect.task_name(name)
        assert found is not None
        states = Counter(record.state for record in map(desk.record, "abcixyzm") if record and record.name == name)
        assert found.states == states
        facets = inspect.browse(TaskQuery(name=name)).facets
        assert {state: count for state, count in facets["state"] if count} == states


def test_the_version_changes_with_what_is_shown_and_only_then(desk: Desk) -> None:
    desk.push("a")
    write_snapshot(desk)
    first = inspect.snapshot().version
    assert inspect.snapshot().version == first
    desk.push("b")
    write_snapshot(desk)
    assert inspect.snapshot().version != first


def test_a_pool_that_nobody_serves_and_a_missing_watchdog_are_alarms(desk: Desk) -> None:
    desk.push("a", name="add")
    assert "No live worker serves the pool default: 1 task waits." in alarms()
    assert "No watchdog has served the pool default yet" in alarms()
    desk.broker.beat("default", "w1", {"names": "add", "slots": 1})
    desk.tick()
    assert alarms() == ""


def test_unknown_names_late_workers_and_quarantine_are_alarms(desk: Desk) -> None:
    desk.tick()
    desk.push("a", name="new_task")
    desk.broker.beat("default", "w1", {"names": "add", "slots": 1})
    assert "No worker of the pool default knows the task new_task." in alarms()
    desk.broker.beat("default", "w2", {"names": "add", "slots": 1})
    desk.client.zadd(desk.keys.workers, {"w2": desk.now() - 20_000})
    assert "Pool default: 1 of 2 workers has sent no heartbeat for 15 s." in alarms()
    assert [pool.workers for pool in inspect.snapshot().pools] == [1]
    desk.settle(desk.lease(), Outcome.QUARANTINE, value=b"broken")
    assert "Pool default: 1 task is quarantined." in alarms()


def test_a_name_that_workers_give_back_is_an_alarm_however_long_ago_its_tasks_were_pushed(desk: Desk) -> None:
    """After a deploy that renames a task, tasks of the old name wait that were pushed before."""
    desk.await_early_minute()
    desk.tick()
    desk.push("a", name="old_task")
    pushed = desk.keys.metrics(desk.now() // 60_000)
    many = ",".join(f"name{number}" for number in range(MOST_NAMES))
    for names, told in (("new_task", True), (many, True), ("", False), ("new_task,old_task", False)):
        desk.client.hdel(pushed, "in|old_task")
        desk.broker.beat("default", "w1", {"names": names, "slots": 1, "state": "live"})
        assert alarms() == ""
        desk.control("run_now", "a")
        desk.settle(desk.lease(), Outcome.UNKNOWN, b"no task of this name", delay_ms=60_000)
        assert ("No worker of the pool default knows the task old_task." in alarms()) is told
        desk.client.hdel(pushed, "unknown|old_task")


def test_processes_without_a_sign_of_life_are_an_alarm_once_it_lasts(desk: Desk) -> None:
    desk.tick()
    desk.broker.beat("default", "w1", {"names": "add", "slots": 1, "state": "silent", "silent_since": desk.now()})
    assert alarms() == ""
    long_ago = desk.now() - 60_000
    desk.broker.beat("default", "w2", {"names": "add", "slots": 1, "state": "hung", "silent_since": long_ago})
    assert alarms().startswith("Pool default: 2 worker processes are silent, the longest for 1 min.")


def test_nobody_needs_to_know_the_name_of_a_chain(desk: Desk) -> None:
    desk.tick()
    plant(desk, chain_of("c", "a", group_of("g", "b")))
    desk.broker.beat("default", "w1", {"names": "tests.noop", "slots": 1})
    assert alarms() == ""
    assert {name for name, _ in inspect.facets(inspect.TaskQuery())["name"]} == {"chain", "group", "tests.noop"}


def test_what_is_overdue_paused_or_growing_is_an_alarm(desk: Desk) -> None:
    desk.tick()
    desk.broker.beat("default", "w1", {"names": "tests.noop", "slots": 1})
    desk.push(*[f"t{number}" for number in range(120)])
    desk.push("later", delay_ms=60_000)
    desk.broker.lane("default", "default", paused=1)
    desk.client.zadd(desk.keys.agenda, {"later": desk.now() - 10_000})
    found = alarms()
    assert "Pool default: 1 lease, delay or retention is over 5 s overdue." in found
    assert "Lane default of pool default is paused; 120 tasks wait." in found
    assert "The backlog of the pool default grows: 120 tasks wait" in found


def test_attempts_that_fail_are_an_alarm_once_they_are_many(desk: Desk) -> None:
    desk.tick()
    desk.exchange(metrics={"ok|add": 9, "err|add": 2, "err|shop.charge": 7})
    assert alarms() == ""
    desk.exchange(metrics={"err|shop.charge": 1, "ok|add": 1})
    assert alarms() == ("Pool default: 10 of 20 attempts of the last two minutes failed, 8 of them of shop.charge.")
    desk.exchange(metrics={"ok|add": 1})
    assert alarms() == ""


def test_a_name_that_fails_is_an_alarm_though_the_pool_is_well(desk: Desk) -> None:
    desk.tick()
    desk.exchange(metrics={"ok|add": 500, "err|add": 12, "err|shop.charge": 9, "ok|shop.charge": 10})
    assert alarms() == ""
    desk.exchange(metrics={"err|shop.charge": 1})
    assert alarms() == "Task shop.charge of pool default: 10 of 20 attempts of the last two minutes failed."
    desk.exchange(metrics={"ok|shop.charge": 1})
    assert alarms() == ""


def test_of_failing_names_the_worst_is_told_first_and_the_alarm_leads_to_its_name(desk: Desk) -> None:
    mail = Desk(desk.broker, pool="mail")
    for each in (desk, mail):
        each.push("t", delay_ms=60_000)
        each.tick()
    desk.exchange(metrics={"ok|add": 500, "err|shop.charge": 12})
    mail.exchange(metrics={"err|mail.send": 5000, "err|mail.read": 40})
    found = inspect.snapshot().alarms
    assert [(alarm.url_hint, alarm.verb, alarm.target, alarm.failed) for alarm in found] == [
        ("name?id=mail.send", "pause_name", "mail/mail.send", 5040),
        ("name?id=shop.charge", "pause_name", "default/shop.charge", 12),
    ]


def test_a_pool_in_which_many_names_fail_leads_to_its_errors(desk: Desk) -> None:
    desk.tick()
    desk.exchange(metrics={"err|a": 8, "err|b": 7, "err|c": 6})
    (alarm,) = inspect.snapshot().alarms
    assert (alarm.url_hint, alarm.verb) == ("errors?sort=failed", "")


def test_workers_that_are_all_busy_and_end_nothing_are_an_alarm(desk: Desk) -> None:
    desk.tick()
    desk.push("a", "b", "c")
    desk.client.zadd(desk.keys.state("pending"), dict.fromkeys("bc", desk.now() - 61_000))
    lease = desk.lease()
    desk.broker.beat("default", "w1", {"names": "tests.noop", "slots": 2, "busy": 1})
    assert alarms() == ""
    desk.broker.beat("default", "w1", {"names": "tests.noop", "slots": 2, "busy": 2})
    assert alarms() == (
        "All 2 worker slots of pool default are busy, and no task ended within a minute:"
        " 2 tasks wait, the first for 1 min."
    )
    desk.settle(lease, Outcome.RELEASE)
    assert alarms() == ""


def test_a_store_that_can_lose_tasks_is_an_alarm() -> None:
    info = {
        "redis_version": "7.2.0",
        "maxmemory_policy": "allkeys-lru",
        "aof_enabled": 0,
        "maxmemory": 100,
        "used_memory": 96,
        "role": "slave",
    }
    alarms = list(store_alarms(info))
    found = [alarm.text for alarm in alarms]
    assert any("eviction policy" in text for text in found)
    assert any("append-only" in text for text in found)
    assert any("96%" in text for text in found)
    assert any("replica" in text for text in found)
    assert [alarm.command for alarm in alarms] == [
        "redis-cli CONFIG SET maxmemory-policy noeviction",
        "redis-cli CONFIG SET appendonly yes",
        "redis-cli CONFIG SET maxmemory 200",
        "redis-cli INFO replication",
    ]


def test_the_remedy_of_a_store_alarm_names_its_server(desk: Desk) -> None:
    desk.tick()
    desk.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        commands = [alarm.command for alarm in inspect.snapshot().alarms if alarm.key == "store 103"]
    finally:
        desk.client.config_set("maxmemory-policy", "noeviction")
    expected = addressed("redis-cli CONFIG SET maxmemory-policy noeviction", desk.broker.settings.url)
    assert commands == [expected]
    assert expected.startswith("redis-cli -")


def test_each_alarm_of_the_store_has_a_command() -> None:
    broken = {"aof_enabled": 1, "aof_last_write_status": "err", "maxmemory": 1, "redis_version": "6.0"}
    alarms = [*store_alarms({}), *store_alarms(broken), *broken_alarms([Broken(pool="p", reason="refused")])]
    assert [alarm.command for alarm in alarms] == [
        "redis-cli ACL SETUSER NAME +info",
        "redis-cli INFO persistence",
        "redis-cli INFO server",
        "manage.py check --deploy",
    ]


def test_errors_are_grouped_and_the_latest_comes_first(desk: Desk) -> None:
    desk.push("a", "b", "c")
    for lease, fingerprint in zip(desk.claim(3), ("f1", "f1", "f2"), strict=True):
        desk.settle(lease, Outcome.ERROR, delay_ms=-1, **stored(fingerprint, f"message of {fingerprint}"))
    rows = {row.fingerprint: row for row in inspect.errors()}
    assert (rows["f1"].count, rows["f1"].failed, rows["f1"].type) == (2, 2, "ValueError")
    assert rows["f2"].message == "message of f2"
    assert rows["f2"].sample_id == "c"


def test_a_task_that_lost_its_worker_too_often_is_found_among_the_errors(desk: Desk) -> None:
    desk.push("a", "b", name="shop.resize", retries=5)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=0, **stored("f1"))
    desk.control("cancel", "b")
    for _ in range(3):
        desk.control("run_now", "a")
        desk.settle(desk.lease(), Outcome.CRASH, value=b"SIGKILL")
    rows = {row.type: row for row in inspect.errors()}
    lost = rows["WorkerLost"]
    assert (lost.name, lost.message, lost.sample_id) == ("shop.resize", "lost its worker 3 times: SIGKILL", "a")
    assert (lost.count, lost.failed, rows["ValueError"].failed) == (1, 1, 0)
    assert [row.id for row in inspect.tasks(inspect.parse_filter(f"error:{lost.fingerprint}")).rows] == ["a"]
    desk.check()
    desk.control("retry", "a")
    assert {row.type: row.failed for row in inspect.errors()}["WorkerLost"] == 0
    desk.check()


def test_lanes_and_workers_are_told(desk: Desk) -> None:
    desk.push("a", "b", lane="side")
    desk.broker.lane("default", "side", limit=1, weight=3)
    desk.lease()
    desk.broker.beat("default", "w1", {"host": "h", "pid": 7, "slots": 4, "busy": 1, "pools": "default,mail",
                                       "running": b'[["a","add",1500,"default"]]', "state": "quiet"})  # fmt: skip
    desk.broker.beat("mail", "w1", {"host": "h"})
    desk.broker.beat("default", "w2", {"running": b"\xffnonsense"})
    (lane,) = (row for row in inspect.lanes() if row.lane == "side")
    assert (lane.ready, lane.active, lane.limit, lane.weight, lane.paused) == (1, 1, 1, 3, False)
    assert lane.oldest_ms is not None
    workers = {row.id: row for row in inspect.workers()}
    assert set(workers) == {"w1", "w2"}
    assert workers["w2"].running == ()
