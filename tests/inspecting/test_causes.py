"""Causes: one incident is one alarm, which names the cause, and what follows from it stands below it."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from django.core.management import CommandParser, load_command_class

from console.pages.overview.stats import figures
from queueops import inspect
from queueops.inspect import Alarm
from queueops.model.contracts import Outcome
from tests.kernel.desk import Desk, end
from tests.schedules.conftest import Clock

POOLS = ("default", "mail", "media")


@pytest.fixture
def desks(desk: Desk) -> list[Desk]:
    """Three pools with a watchdog."""
    found = [desk, *(Desk(desk.broker, pool=pool) for pool in POOLS[1:])]
    for each in found:
        each.push("later", delay_ms=600_000)
        each.tick()
    return found


def beat(desk: Desk, worker: str = "w1", running: list[list[Any]] | None = None, **fields: object) -> None:
    told = {"names": "", "slots": 4, "busy": len(running or ()), "state": "live", "running": json.dumps(running or [])}
    desk.broker.beat(desk.pool, worker, told | fields)


def past(desk: Desk, ago: int = 10, **counters: int) -> None:
    """What was counted in an earlier minute; a double underscore stands for the bar."""
    fields = {field.replace("__", "|"): count for field, count in counters.items()}
    desk.client.hset(desk.keys.metrics(desk.now() // 60_000 - ago), mapping=fields)


def mark(desk: Desk, **counters: int) -> None:
    """What the names had counted 15 s ago; the test may take a while."""
    at = desk.now() - 15_000
    fields = {field.replace("__", "|"): count for field, count in counters.items()}
    for slot in range(desk.now() // 10_000 - 1, desk.now() // 10_000 + 3):
        desk.client.hset(desk.keys.recent(slot), mapping={"@": at} | fields)


def one() -> Alarm:
    (alarm,) = inspect.snapshot().alarms
    taken_by_the_program(alarm.command)
    return alarm


def taken_by_the_program(line: str) -> None:
    program, command, *words = shlex.split(line)
    if program == "manage.py":
        parser: CommandParser = load_command_class("queueops", command).create_parser("manage.py", command)
        parser.called_from_command_line = False
        parser.parse_args(words)


def backlog(desk: Desk, count: int = 300, **fields: Any) -> None:
    """So many tasks wait, and no end is near."""
    desk.push(*[f"t{number}" for number in range(count)], **fields)


def test_a_dead_watchdog_of_three_pools_is_one_alarm_and_what_follows_stands_below(desks: list[Desk]) -> None:
    for desk in desks:
        desk.client.hset(desk.keys.clock, "tick", desk.now() - 20_000)
        desk.client.zadd(desk.keys.agenda, {"gone": 1})
        desk.client.zadd(desk.keys.schedules, {"nightly": desk.now() + 60_000})
    found = one()
    assert (found.key, found.pools, found.level) == ("watchdog", POOLS, "danger")
    assert found.text.startswith("No watchdog serves the pool default: the last one ran ")
    assert found.text.endswith(" The same in pools mail and media.")
    assert len(found.consequences) == 6
    assert len(inspect.status().alarms[0].consequences) == 6


def test_a_silent_process_is_one_alarm_with_its_task_and_all_that_waits_for_it(desks: list[Desk]) -> None:
    for desk in desks:
        desk.push("a", "b", name="shop.hang")
        desk.lease()
        now = desk.now()
        running = [["a", "shop.hang", now - 90_000, "default"]]
        beat(desk, running=running, state="silent", silent_since=now - 60_000, slots=1, host="web1", pid=4711)
        desk.client.zadd(desk.keys.state("pending"), {"b": now - 90_000}, xx=True)
    found = one()
    assert (found.key, found.pools, found.verb) == ("silent w1", POOLS, "interrupt")
    assert "The task shop.hang a holds the interpreter. The same in pools mail and media." in found.text
    assert any("All 1 worker slots" in text for text in found.consequences)


def test_tasks_that_hang_in_all_slots_are_named_with_their_number_after_seconds(desks: list[Desk]) -> None:
    for desk in desks:
        past(desk, ok__shopXhang=50, ms__shopXhang=10_000)
        desk.push(*(f"w{number}" for number in range(7)), name="shopXhang")
        now = desk.now()
        busy = [[f"a{number}", "shopXhang", now - 12_000, "default"] for number in range(12)]
        beat(desk, running=busy, slots=12)
    found = one()
    assert re.fullmatch(
        r"12 of 12 slots of pools default, mail and media run shopXhang for over \d+ s, which usually takes 200 ms:"
        r" 21 tasks wait\.",
        found.text,
    )
    assert (found.key, found.level, found.target) == ("hanging shopXhang", "danger", "/shopXhang")
    assert (found.verb, found.url_hint) == ("interrupt_name", "tasks?state=locked&name=shopXhang")
    shown = figures(inspect.snapshot())
    assert (shown.held, shown.drain_reason) == (21, "")
    for desk in desks:  # it is usual that it takes so long
        past(desk, ok__shopXhang=50, ms__shopXhang=500_000)
    past(desks[0], ago=10, ms__shopXhang=500_000)
    assert inspect.snapshot().alarms == ()


def test_a_backlog_names_the_names_that_are_slow_and_offers_no_workers(desk: Desk) -> None:
    desk.tick()
    for name in ("charge", "refund"):
        past(desk, **{f"ok__{name}": 100, f"ms__{name}": 30_000})
    desk.exchange(metrics={"ok|charge": 4, "ms|charge": 29_200, "ok|refund": 2, "ms|refund": 14_000, "ok|other": 9})
    backlog(desk, name="charge")
    beat(desk, slots=4)
    found = one()
    assert "300 tasks wait" in found.text
    assert found.text.endswith("2 names take 23 times longer than before: charge 7.3 s, refund 7 s.")
    assert (found.key, found.url_hint, found.verb) == ("growing slow", "name?id=charge", "")
    assert found.command == "manage.py queue name charge"


def test_a_backlog_names_the_names_that_are_slow_now_and_not_what_hung_a_minute_ago(desk: Desk) -> None:
    desk.await_early_minute()
    desk.tick()
    past(desk, ok__charge=100, ms__charge=30_000, ok__hung=100, ms__hung=30_000)
    hung = {"ok|hung": 4, "ms|hung": 240_000}
    desk.exchange(metrics=hung)
    mark(desk, **{field.replace("|", "__"): count for field, count in hung.items()})
    desk.exchange(metrics={"ok|charge": 4, "ms|charge": 29_200})
    backlog(desk, name="charge")
    beat(desk, slots=4)
    assert one().text.endswith("1 name takes 24 times longer than before: charge 7.3 s.")


def test_a_backlog_names_its_producer_with_lane_share_and_rate(desk: Desk) -> None:
    desk.await_early_minute()
    desk.tick()
    beat(desk, slots=1)
    past(desk, in__sync=60, ok__sync=60, ms__sync=6000)
    mark(desk)
    desk.exchange(metrics={"ok|sync": 10, "ms|sync": 1000})
    desk.push("other")
    backlog(desk, 900, name="sync", lane="bulk")
    found = one()
    assert "100% of the arrivals are sync in lane bulk: " in found.text
    assert "/s, 1.0/s before." in found.text
    assert (found.verb, found.target) == ("pause_name", "default/sync")


def test_a_backlog_behind_a_pause_or_a_limit_stands_below_that_and_else_slots_are_missing(desk: Desk) -> None:
    desk.tick()
    backlog(desk, lane="bulk")
    desk.exchange(metrics={"ok|tests.noop": 1, "ms|tests.noop": 1000})
    beat(desk, slots=1)
    found = one()
    assert found.text.endswith("No name is slower than before, and no limit holds them: more slots help.")
    assert found.command == "manage.py runworker --pool default"
    desk.broker.lane("default", "bulk", paused=1)
    found = one()
    assert (found.key, found.verb, len(found.consequences)) == ("lane default/bulk", "resume_lane", 1)
    assert "Lane bulk is paused." in found.consequences[0]
    desk.broker.lane("default", "bulk", paused=0)
    desk.broker.pause_name("default", "tests.noop", paused=True)
    desk.tick()
    found = one()
    told = "The name tests.noop is paused."
    assert (told in found.text or told in str(found.consequences), found.verb) == (True, "resume_name"), found
    assert found.command == "manage.py queue resume --name tests.noop --pool default"
    desk.broker.pause_name("default", "tests.noop", paused=False)
    desk.broker.lane("default", "bulk", limit=1)
    (lease,) = desk.claim(5)
    found = one()
    assert found.text.endswith("Lane bulk is at its limit of 1.")
    assert found.command == "manage.py queue set-lane bulk --pool default --limit 2"
    desk.settle(lease)


def test_a_backlog_that_waits_for_turns_of_a_limit_needs_no_slots(desk: Desk) -> None:
    desk.tick()
    backlog(desk, own=(("lk", "*"), ("lm", "1")))
    desk.exchange(metrics={"ok|tests.noop": 1, "ms|tests.noop": 1000})
    beat(desk, slots=1)
    found = one()
    assert found.text.endswith("299 tasks wait for turns, by the limit or rate of their name: more slots do not help.")
    assert found.command == "manage.py queue list --state pending --pool default"


def test_a_name_that_suddenly_fails_is_told_from_the_last_seconds(desk: Desk) -> None:
    desk.await_early_minute()
    desk.tick()
    mark(desk, ok__charge=80)
    desk.exchange(metrics={"ok|charge": 80, "err|charge": 2, "ok|other": 900})
    assert inspect.snapshot().alarms == ()
    desk.exchange(metrics={"err|charge": 3})
    found = one()
    assert re.match(r"Task charge of pool default: 5 of 5 attempts of the last \d+ s failed\.", found.text)
    desk.exchange(metrics={"ok|charge": 1})
    assert inspect.snapshot().alarms == ()


def test_a_name_that_fails_in_three_pools_is_one_alarm_and_its_button_pauses_all(desks: list[Desk]) -> None:
    for desk in desks:
        desk.exchange(metrics={"err|charge": 12, "ok|charge": 3, "ok|other": 200})
    found = one()
    assert found.text == (
        "Task charge of pools default, mail and media: 36 of 45 attempts of the last two minutes failed."
    )
    assert (found.key, found.target, found.failed) == ("failing charge", "/charge", 36)
    assert found.command == "manage.py queue pause --name charge"


@pytest.mark.parametrize(("retried", "told"), [(0, True), (2, False)])
def test_three_failures_of_three_are_news_in_a_small_shop_unless_one_task_had_them_all(
    retried: int, told: bool, desk: Desk
) -> None:
    desk.tick()
    desk.exchange(metrics={"ok|other": 4, "err|charge": 3, "re|charge": retried})
    assert ["charge" in alarm.text for alarm in inspect.snapshot().alarms] == [True] * told


def test_a_task_that_kills_its_worker_is_named_so(desk: Desk) -> None:
    desk.tick()
    desk.push("a", "b", name="leak")
    told = []
    for _ in range(3):
        crashed = {lease.id: end(lease, Outcome.CRASH, b"SIGKILL") for lease in desk.claim(2)}
        desk.broker.recover(desk.pool, "w1", crashed)
        told.append([alarm.key for alarm in inspect.snapshot().alarms if alarm.key.startswith("kills")])
        for id in ("a", "b"):
            desk.control("run_now", id)
    assert told == [[], ["kills leak"], ["kills leak"]], "a first crash may be an accident"
    beat(desk)
    found = one()
    assert found.text == (
        "Task leak of pool default kills its worker: 6 of its starts ended with their process"
        " within the last two minutes."
    )
    assert (found.key, found.level, found.verb) == ("kills leak", "danger", "pause_name")


def test_only_failures_that_are_lost_starts_follow_from_a_task_that_kills_its_worker(desk: Desk) -> None:
    """An error that has nothing to do with the crashes is an incident of its own."""
    desk.tick()
    beat(desk)
    desk.exchange(metrics={"kill|leak": 2, "lost|leak": 3, "err|leak": 3, "lost|report": 12, "err|report": 12})
    found = one()
    assert (found.key, found.followers) == ("kills leak", ("failing report",))
    desk.exchange(metrics={"err|charge": 40})
    alarms = {alarm.key: alarm.consequences for alarm in inspect.snapshot().alarms}
    assert alarms == {"kills leak": (), "failing charge": ()}


def test_a_clock_that_differs_is_told_by_its_host_and_that_of_the_store_if_all_hosts_agree(desk: Desk) -> None:
    desk.tick()
    beat(desk, host="web1", clock=desk.now() + 900_000)
    beat(desk, "w2", host="web2", clock=desk.now())
    found = one()
    assert found.text.startswith("The clock of the host web1 is 15 min ahead of that of the store:")
    assert (found.key, found.pools) == ("clock web1", ("default",))
    (told,) = [row.facts for row in inspect.workers() if row.host == "web1"]
    assert told == (("clock", "15 min ahead of that of the store"),)
    beat(desk, "w2", host="web2", clock=desk.now() + 900_000)
    assert one().text.startswith("The clock of the store is 15 min behind the clocks of all 2 hosts of workers.")
    for worker, host in (("w1", "web1"), ("w2", "web2")):
        beat(desk, worker, host=host, clock=desk.now() - 3000)
        desk.client.zadd(desk.keys.workers, {worker: desk.now() + 58_000})  # a later sign of life, without its clock
    assert inspect.snapshot().alarms == ()


def test_a_schedule_whose_run_hangs_is_told_with_its_task_after_three_skipped_ticks(desk: Desk) -> None:
    desk.tick()
    beat(desk)
    clock = Clock(desk.broker)
    clock.define("reports", ago_ms=40_000, overlap="skip")
    clock.fire()
    (run,) = clock.runs("reports")
    for _ in range(3):
        assert inspect.snapshot().alarms == ()
        clock.came("reports")
        clock.fire()
    found = one()
    assert found.text.startswith(f"Schedule reports of pool default has skipped 3 runs: its task {run} has not ended")
    assert (found.key, found.verb, found.target) == ("skipping default/reports", "interrupt", f"default/{run}")
    desk.settle(desk.lease())
    clock.came("reports")
    clock.fire()
    assert inspect.snapshot().alarms == ()
