"""Alarms: what keeps work from being done is named with its cause and its remedy, and ends when that is mended."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.core.management import call_command

from console.ui.list_order import by_trouble
from queueops import control, inspect
from queueops.inspect import Alarm
from queueops.model.contracts import Outcome
from tests.kernel.desk import Desk, end
from tests.schedules.conftest import Clock
from tests.support.waiting import wait_until


def beat(desk: Desk, worker: str = "w1", **fields: object) -> None:
    desk.broker.beat("default", worker, {"names": "", "slots": 4, "state": "live"} | fields)


def alarm(part: str) -> Alarm:
    (found,) = [alarm for alarm in inspect.snapshot().alarms if part in alarm.text]
    return found


def texts() -> str:
    return "\n".join(alarm.text for alarm in inspect.snapshot().alarms)


def wait_for(desk: Desk, seconds: int, *ids: str) -> None:
    """These tasks have waited for so long."""
    desk.client.zadd(desk.keys.state("pending"), dict.fromkeys(ids, desk.now() - 1000 * seconds), xx=True)


def silent(desk: Desk, *running: tuple[str, str], **fields: object) -> Alarm:
    """The alarm of a process that has been silent for a minute, with what its supervisor says that it runs."""
    now = desk.now()
    rows = [[id, name, now - 90_000 + number, "default"] for number, (id, name) in enumerate(running)]
    told = {"host": "web1", "pid": 4711, "state": "silent", "silent_since": now - 60_000, "running": json.dumps(rows)}
    beat(desk, **told | fields)
    return alarm("silent")


@pytest.mark.django_db
def test_a_task_that_holds_the_interpreter_is_named_and_its_command_ends_it(desk: Desk) -> None:
    desk.push("a", name="shop.hang")
    desk.lease()
    found = silent(desk, ("a", "shop.hang"))
    assert found.text == (
        "Pool default: 1 worker process is silent, the longest for 1 min (web1 process 4711)."
        " The task shop.hang a holds the interpreter."
    )
    assert (found.verb, found.target, found.url_hint) == ("interrupt", "default/a", "worker?id=w1")
    assert found.command == "manage.py queue cancel a --hard --pool default"
    call_command(*shlex.split(found.command)[1:])
    record = desk.broker.record("default", "a")
    assert record is not None
    assert record.cancelled_hard


def test_of_several_tasks_the_stacks_show_which_one_holds_the_interpreter(desk: Desk) -> None:
    found = silent(desk, ("a", "shop.old"), ("b", "shop.new"))
    assert found.text.endswith(" Running there: shop.new b, shop.old a. The stacks show what holds the interpreter.")
    assert (found.verb, found.command) == ("", "manage.py queue stacks w1")
    assert "Running there" not in silent(desk).text


def test_only_a_process_that_is_stopped_is_continued(desk: Desk) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        here = {"host": os.uname().nodename, "pid": process.pid}
        assert silent(desk, ("a", "shop.hang"), **here).verb == "interrupt"
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: silent(desk, ("a", "shop.hang"), **here).command == f"kill -CONT {process.pid}")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.django_db
def test_a_lane_at_its_limit_with_old_tasks_is_an_alarm_with_the_command(desk: Desk) -> None:
    desk.tick()
    desk.broker.lane("default", "bulk", limit=1)
    desk.push("a", "b", "c", lane="bulk")
    beat(desk, busy=1)
    desk.exchange(metrics={"ok|tests.noop": 1, "ms|tests.noop": 60_000})
    lease = desk.lease()
    assert texts() == ""
    wait_for(desk, 300, "b")
    found = alarm("at its limit")
    assert found.text.startswith(
        "Lane bulk of pool default is at its limit of 1: 2 tasks wait, the first for 5 min;"
        " drains in about 2.5 min if no more come."
    )
    assert (found.level, found.url_hint) == ("warning", "lane?pool=default&id=bulk")
    assert found.command == "manage.py queue set-lane bulk --pool default --limit 2"
    call_command(*shlex.split(found.command)[1:])
    assert texts() == ""
    desk.settle(lease)


def test_a_lane_at_its_rate_with_old_tasks_is_an_alarm(desk: Desk) -> None:
    desk.tick()
    desk.broker.lane("default", "bulk", rate=0.01)
    desk.push("a", "b", lane="bulk")
    beat(desk)
    desk.settle(desk.lease())
    wait_for(desk, 300, "b")
    found = alarm("at its rate")
    assert found.text.startswith(
        "Lane bulk of pool default is at its rate of 0.01/s: 1 task waits, the first for 5 min"
    )
    assert found.command == "manage.py queue set-lane bulk --pool default --rate 1"


@pytest.mark.django_db
def test_a_paused_schedule_is_an_alarm_from_its_first_missed_run_on(desk: Desk) -> None:
    desk.tick()
    beat(desk)
    clock = Clock(desk.broker)
    clock.define("nightly")
    control.pause_schedule("nightly")
    assert texts() == ""
    control.resume_schedule("nightly")
    clock.came("nightly", ago_ms=-200)
    control.pause_schedule("nightly")
    found = wait_until(lambda: [alarm for alarm in inspect.snapshot().alarms if "missed" in alarm.text])[0]
    assert found.text.startswith("Schedule nightly of pool default is paused and has missed runs, the first ")
    assert (found.verb, found.target) == ("resume_schedule", "default/nightly")
    call_command(*shlex.split(found.command)[1:])
    assert texts() == ""
    control.delete_schedule("nightly")


def test_a_queue_that_grows_slowly_is_an_alarm_once_its_tasks_are_old(desk: Desk) -> None:
    desk.tick()
    ids = [f"t{number}" for number in range(1520)]
    desk.push(*ids)
    beat(desk, slots=1)
    desk.exchange(settle=[end(lease) for lease in desk.claim(1400)])
    desk.exchange(metrics={"ok|tests.noop": 1, "ms|tests.noop": 1000})
    assert "grows" not in texts()
    wait_for(desk, 90, *ids)
    found = alarm("grows")
    assert found.text.startswith("The backlog of the pool default grows: 120 tasks wait, ")
    assert found.command == "manage.py runworker --pool default"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for a worker on this machine."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_frozen_and_dead_workers_are_told_apart_and_the_alarm_ends(
    desk: Desk, process: subprocess.Popen[bytes]
) -> None:
    desk.tick()
    host = os.uname().nodename
    long_ago = desk.now() - 60_000
    beat(desk, "w1", host=host, pid=process.pid, started=long_ago)
    desk.client.zadd(desk.keys.workers, {"w1": desk.now() - 30_000})
    assert alarm("heartbeat").text == (
        f"Pool default: 1 of 1 worker has sent no heartbeat for 15 s ({host} process {process.pid})."
    )
    os.kill(process.pid, signal.SIGSTOP)
    found = wait_until(lambda: [alarm for alarm in inspect.snapshot().alarms if "is frozen" in alarm.text])[0]
    assert found.command == f"kill -CONT {process.pid}"
    assert [row.state for row in inspect.workers()] == ["frozen"]
    process.kill()
    process.wait()
    found = alarm("is dead")
    assert found.command == "manage.py runworker --pool default"
    assert [row.state for row in inspect.workers()] == ["dead"]
    beat(desk, "w0", started=long_ago)
    assert "is dead" in texts(), "the other worker was there before"
    beat(desk, "w2", started=desk.now())
    assert texts() == "", "another worker was started in its place"


def test_a_dead_worker_stays_replaced_when_its_successor_falls_silent(desk: Desk) -> None:
    desk.tick()
    now = desk.now()
    for worker, started, last in (("w1", 900_000, 60_000), ("w2", 59_000, 20_000), ("w3", 900_000, 19_000)):
        beat(desk, worker, host="h", pid=worker[1], started=now - started)
        desk.client.zadd(desk.keys.workers, {worker: now - last})
    beat(desk, "w4", started=now - 900_000)
    assert (
        alarm("heartbeat").text
        == "Pool default: 2 of 4 workers have sent no heartbeat for 15 s (h process 2, h process 3)."
    )


def test_lanes_are_listed_by_trouble(desk: Desk) -> None:
    desk.tick()
    beat(desk)
    for lane, options in {"z-paused": {"paused": 1}, "y-full": {"limit": 1}, "x-rate": {"rate": 0.01}}.items():
        desk.broker.lane("default", lane, **options)
        desk.push(f"{lane}-1", f"{lane}-2", lane=lane)
    desk.push("idle-1", lane="a-idle")
    desk.exchange(metrics={"ok|tests.noop": 1, "ms|tests.noop": 1000})
    held = desk.claim(10)
    assert {lease.id for lease in held} == {"y-full-1", "x-rate-1", "idle-1"}
    desk.push("new-1", lane="b-new")
    desk.push("old-1", lane="c-old")
    wait_for(desk, 300, "old-1", "x-rate-2")
    wait_for(desk, 200, "y-full-2")
    found = inspect.snapshot()
    order = [row.lane for row in by_trouble(found.lanes, found.taken_ms)]
    assert order == ["z-paused", "x-rate", "y-full", "c-old", "b-new", "a-idle"]


def test_every_alarm_of_a_pool_has_a_command(desk: Desk) -> None:
    desk.push("b", "a", name="new_task")
    desk.client.zadd(desk.keys.agenda, {"gone": 1})
    desk.settle(desk.lease(), Outcome.QUARANTINE, value=b"broken")
    desk.broker.lane("default", "default", paused=1)
    desk.exchange(metrics={"err|new_task": 20})
    found = inspect.snapshot().alarms
    assert len(found) >= 5
    assert [alarm.text for alarm in found if not alarm.command] == []


def test_a_lane_that_no_worker_serves_is_an_alarm_with_the_command(desk: Desk) -> None:
    desk.tick()
    desk.push("a", "b", lane="to:mail")
    desk.push("c", "d", lane="bulk")
    beat(desk, lanes="to:*")
    found = alarm("No live worker serves the lane bulk of pool default: 2 tasks wait.")
    assert found.text.endswith("Each was started with other --lanes.")
    assert (found.level, found.command) == ("danger", "manage.py runworker --pool default --lanes bulk")
    beat(desk, "w2", lanes="bulk")
    assert texts() == ""


def test_all_that_waits_is_counted_in_one_alarm_of_unserved_lanes(desk: Desk) -> None:
    desk.tick()
    for number in range(5):
        desk.push(f"t{number}", lane=f"l{number}")
    beat(desk, lanes="to:*")
    found = alarm("No live worker serves the lanes")
    assert "and 2 more of pool default: 5 tasks wait." in found.text
    assert found.command == "manage.py runworker --pool default"  # that of three lanes would leave two
    beat(desk, lanes="to:*", state="quiet")
    assert "No live worker serves" not in texts()
    assert "All workers of the pool default are quiet" in texts()


def test_a_kind_that_no_worker_takes_is_an_alarm_with_the_command(desk: Desk) -> None:
    desk.tick()
    desk.push("a", "b", kind="iterator")
    desk.push("c")
    beat(desk, kinds="task")
    found = alarm("takes the kind")
    assert found.text == (
        "No live worker of the pool default takes the kind iterator: 2 tasks wait. Each was started with other --kinds."
    )
    assert (found.level, found.command) == ("danger", "manage.py runworker --pool default --kinds iterator")
    beat(desk, "w2", kinds="iterator", state="quiet")
    assert alarm("takes the kind") == found
    beat(desk, "w2", kinds="iterator")
    assert texts() == ""
    beat(desk, kinds="!task")
    assert "takes the kind task: 1 task waits." in alarm("takes the kind").text


def test_a_kind_that_is_taken_from_other_lanes_alone_is_an_alarm_of_its_lanes(desk: Desk) -> None:
    desk.tick()
    for number in range(5):
        desk.push(f"t{number}", kind="iterator", lane=f"l{number}")
    beat(desk, kinds="iterator", lanes="to:*")
    beat(desk, "w2", kinds="task")
    found = alarm("takes the kind")
    assert found.text.startswith("No live worker takes the kind iterator from the lanes l")
    assert found.text.endswith("and 2 more of pool default. Those that take it were started with other --lanes.")
    assert found.command == "manage.py runworker --pool default --kinds iterator"
    beat(desk, "w3", kinds="!task", lanes="l*")
    assert texts() == ""
