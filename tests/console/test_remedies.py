"""Remedies of alarms: each command is one that the programs take, each link answers, and each button is done."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.core.management import CommandParser, load_command_class
from django.test import Client

from console.actions.remedies import ALARMS, alarm_remedy
from console.models import AuditEntry
from console.ui.kind_pages import kind_pages
from console.ui.links import alarm_url
from queueops import control, inspect, jobs
from queueops.inspect import Alarm
from queueops.kinds.jobs.store import JobCalls
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL
from tests.kernel.desk import Desk
from tests.schedules.conftest import Clock
from tests.support.waiting import wait_until
from tests.workflows.test_alarms import blocked
from tests.workflows.test_blocked import behaviour, waits_then_flaky

pytestmark = pytest.mark.django_db
HOST = "127.0.0.1:9"


@pytest.fixture
def desk(namespace: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Desk:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    desk = Desk(get_broker())
    desk.tick()
    return desk


def beat(desk: Desk, **fields: object) -> None:
    desk.broker.beat("default", "w1", {"names": "", "slots": 4, "state": "live"} | fields)


def paused_lane(desk: Desk) -> None:
    desk.push("a", lane="bulk")
    desk.broker.lane("default", "bulk", paused=1)


def paused_name(desk: Desk) -> None:
    control.pause_name("app.mail", new=True)
    desk.push("b", name="app.mail")
    desk.exchange()


def paused_schedule(desk: Desk) -> None:
    clock = Clock(desk.broker)
    clock.define("nightly")
    clock.came("nightly", ago_ms=-200)
    control.pause_schedule("nightly")
    wait_until(lambda: "has missed runs" in str(inspect.snapshot().alarms))


def failing_name(desk: Desk) -> None:
    desk.exchange(metrics={"ok|add": 500, "err|shop.charge": 20})


def failing_pool(desk: Desk) -> None:
    desk.exchange(metrics={"err|add": 20, "err|shop.charge": 20})


def blocked_run(desk: Desk) -> None:
    blocked()
    behaviour["code"] = waits_then_flaky


def open_circuit(desk: Desk) -> None:
    given: Any = {"aggregation": "a", "handler": "work", "callback_url": f"http://{HOST}/hook"}
    jobs.submit_many([given] * 2)
    for lease in desk.claim(2):
        desk.settle(lease, Outcome.SUCCESS)
    (row,) = inspect.destinations().rows
    get_role(JobCalls).address_failed("default", f"http://{HOST}/hook", row.lane, 1, 3_600_000, 3_600_000)
    get_role(JobCalls).ask_circuit("default", f"http://{HOST}/hook", "c1", 1000)


def lane_at_its_limit(desk: Desk) -> None:
    desk.push("e", "f", lane="api")
    control.set_lane("default", "api", limit=1)
    assert len(desk.claim(1)) == 1
    desk.client.zadd(desk.keys.state("pending"), {"f": desk.now() - 61_000}, xx=True)


def quarantined(desk: Desk) -> None:
    desk.push("c")
    desk.settle(desk.lease(), Outcome.QUARANTINE, value=b"broken")


def overdue(desk: Desk) -> None:
    desk.client.zadd(desk.keys.agenda, {"gone": 1})


def unknown_name(desk: Desk) -> None:
    beat(desk, names="app.other")
    desk.push("d", name="app.new")


def lane_without_worker(desk: Desk) -> None:
    beat(desk, lanes="to:*")
    desk.push("g", lane="bulk")


def kind_without_worker(desk: Desk) -> None:
    beat(desk, kinds="task")
    desk.push("h", kind="iterator")


def dead_worker(desk: Desk) -> None:
    beat(desk, host="web1", pid=4711)
    desk.client.zadd(desk.keys.workers, {"w1": desk.now() - 60_000})


def held_interpreter(desk: Desk) -> None:
    desk.push("i", name="shop.hang")
    desk.lease()
    now = desk.now()
    running = json.dumps([["i", "shop.hang", now - 90_000, "default"]])
    beat(desk, state="silent", silent_since=now - 60_000, running=running, host="web1", pid=4711)


def hanging(desk: Desk) -> None:
    desk.push("k", "l", name="shop.hang")
    desk.lease()
    now = desk.now()
    desk.client.hset(desk.keys.metrics(now // 60_000 - 5), mapping={"ok|shop.hang": 1, "ms|shop.hang": 200})
    beat(desk, slots=1, busy=1, running=json.dumps([["k", "shop.hang", now - 40_000, "default"]]))


def growing(desk: Desk) -> None:
    desk.push(*(f"g{number}" for number in range(120)))


PLANTS: dict[Callable[[Desk], None], str] = {
    paused_lane: "resume_lane",
    paused_name: "resume_name",
    held_interpreter: "interrupt",
    hanging: "interrupt_name",
    paused_schedule: "resume_schedule",
    failing_name: "pause_name",
    blocked_run: "run_now",
    open_circuit: "close_circuit",
    failing_pool: "",
    lane_at_its_limit: "",
    quarantined: "",
    overdue: "",
    unknown_name: "",
    lane_without_worker: "",
    kind_without_worker: "",
    dead_worker: "",
    growing: "",
}
"""What is planted, and the verb of its button."""
RECORDED = {"resume_lane": "resume", "interrupt_name": "interrupt"}
"""Verbs with another name in the audit log."""


def planted(desk: Desk, plant: Callable[[Desk], None]) -> list[Alarm]:
    """The alarms that were not there before."""
    beat(desk)
    before = {alarm.key for alarm in inspect.snapshot().alarms}
    plant(desk)
    found = [alarm for alarm in inspect.snapshot().alarms if alarm.key not in before]
    assert found
    return found


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_its_command_is_taken_and_its_link_leads_to_a_page(
    plant: Callable[[Desk], None], desk: Desk, operator: Client
) -> None:
    for alarm in planted(desk, plant):
        program, command, *words = shlex.split(alarm.command)
        if program == "manage.py":
            parser: CommandParser = load_command_class("queueops", command).create_parser("manage.py", command)
            parser.called_from_command_line = False
            parser.parse_args(words)
        address = alarm_url(alarm)
        assert bool(address) != (alarm.url_hint == "health"), alarm
        if address:
            assert operator.get(address).status_code == 200


@pytest.mark.parametrize("plant", [plant for plant, verb in PLANTS.items() if verb], ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("path", ["", "pools/default/"])
def test_its_button_stands_beside_it_and_is_recorded(
    plant: Callable[[Desk], None], path: str, desk: Desk, administrator: Client
) -> None:
    (alarm,) = [found for found in planted(desk, plant) if found.verb == PLANTS[plant]]
    page = administrator.get(f"/ops/{path}").content.decode()
    (shown,) = [unescape(part) for part in page.split('<div class="flash ')[1:] if alarm.command in unescape(part)]
    (address,) = re.findall(r'<form method="post" action="([^"]+)"', shown.partition("</div>")[0])
    assert administrator.post(address, {"next": f"/ops/{path}", "confirmed": "1"}).status_code == 302
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.outcome) == (RECORDED.get(alarm.verb, alarm.verb), "done")
    run_worker()
    beat(desk)
    left = [found for found in inspect.snapshot().alarms if found.key == alarm.key]
    assert not any(found.verb == alarm.verb for found in left), "the same button is not offered again"
    assert alarm_remedy(alarm, frozenset({"view"})) is None


OF_FINDINGS = {"retry_chunks"}
"""Buttons of what the tab "Why?" finds, and of no alarm."""
OF_STORES = {"empty_trash"}
"""Buttons of alarms about a store: `test_pool.py` has them."""


def test_each_verb_of_an_alarm_has_a_button() -> None:
    of_kinds = {verb for pages in kind_pages() for verb in pages.remedies}
    assert {verb for verb in PLANTS.values() if verb} == of_kinds - OF_FINDINGS | {*ALARMS} - OF_STORES
    assert not of_kinds & {*ALARMS}


def test_a_command_sends_to_a_host_again(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.management import CommandError, call_command

    open_circuit(desk)
    call_command("jobs", "close-circuit", HOST)
    assert f"Callbacks to {HOST} are sent again." in capsys.readouterr().out
    (row,) = inspect.destinations().rows
    assert row.shut_ms is None
    with pytest.raises(CommandError, match="No circuit of"):
        call_command("jobs", "close-circuit", HOST)
    assert [(entry.verb, entry.target, entry.outcome) for entry in AuditEntry.objects.order_by("pk")] == [
        ("close_circuit", HOST, "done"),
        ("close_circuit", HOST, "refused"),
    ]
