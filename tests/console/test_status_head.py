"""The status head: on every page, whether everything is well, or what is not, with the way to it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import expect

from queueops import control, inspect
from queueops.inspect import store_health
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from queueops.redis.redis_cli import addressed
from tests.console.browsing import Open, browsing, serving, tick
from tests.console.standin import World
from tests.kernel.desk import Desk
from tests.schedules.conftest import Clock
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db
PAGES = ("", "tasks/", "errors/", "lanes/", "commands/", "schedules/", "workers/", "registry/", "audit/", "settings/")


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A system in which everything is well."""
    desk = Desk(get_broker())
    desk.tick()
    desk.broker.beat("default", "w1", {"names": "", "slots": 1})
    return desk


@pytest.fixture
def open_real(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens pages of the console, behind which the real engine is; no answer is kept."""
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    with serving() as url, browsing(url) as opened:
        yield opened


def break_two(desk: Desk) -> None:
    """A paused lane with a task, and a command without a pool to take it."""
    desk.push("a", lane="bulk")
    desk.broker.lane("default", "bulk", paused=1)
    desk.client.zadd(desk.keys.agenda, {"gone": 1})


@pytest.mark.parametrize("path", PAGES)
def test_each_page_says_that_everything_is_well_or_what_is_not(
    path: str, desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    assert "Everything is well." in operator.get(f"/ops/{path}").content.decode()
    break_two(desk)
    page = operator.get(f"/ops/{path}").content.decode()
    head = page[page.index('id="status"') : page.index("</section>", page.index('id="status"'))]
    assert "Everything is well." not in page
    if path:
        assert head.index("over 5 s overdue") < head.index("Lane bulk of pool default is paused; 1 task waits.")
        assert "all 2 alarms" in head


def test_without_a_worker_each_page_says_what_to_do_first(
    namespace: str, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    desk = Desk(get_broker())
    for prepare in (lambda: None, desk.tick):  # an empty store, and one with a watchdog
        prepare()
        for path in PAGES:
            page = operator.get(f"/ops/{path}").content.decode()
            head = page[page.index('id="status"') : page.index("</section>", page.index('id="status"'))]
            assert "No worker is running: new tasks would wait." in head, path
            assert "manage.py runworker" in head
            assert "Everything is well." not in page
        assert inspect.status() == inspect.status_of(inspect.snapshot())
    live = f"/ops/_status?v={inspect.status().version}"
    assert operator.get(live).status_code == 204
    desk.broker.beat("default", "w1", {"names": "", "slots": 1})
    assert "Everything is well." in operator.get(live).content.decode()


def test_the_overview_tells_each_alarm_once(desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    break_two(desk)
    page = operator.get("/ops/").content.decode()
    assert "2 alarms, 1 urgent" in page
    for alarm in inspect.status().alarms:
        assert page.count(alarm.text) == 1
    live = operator.get("/ops/_status?listed=*").content.decode()
    assert "2 alarms, 1 urgent" in live
    assert "listed=%2A" in live
    assert "is paused" not in live


def test_the_page_of_a_pool_tells_each_of_its_alarms_once_and_its_head_those_of_others(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    break_two(desk)
    desk.broker.announce("other")
    for address in ("/ops/pools/default/", "/ops/pools/other/", "/ops/_status?listed=other"):
        page = operator.get(address).content.decode()
        head = page[page.index('id="status"') : page.index("</section>", page.index('id="status"'))]
        is_own = "default" in address
        assert ("is paused" in head) is not is_own
        assert ("2 alarms" in head, "all 2 alarms" in head) == (True, not is_own)
    own = operator.get("/ops/pools/default/").content.decode()
    assert [own.count(f'<span class="alarm-text">{alarm.text}') for alarm in inspect.status().alarms] == [1, 1]


def test_every_alarm_of_the_overview_has_its_command_and_a_button_that_ends_it(
    desk: Desk, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    break_two(desk)
    clock = Clock(desk.broker)
    clock.define("nightly")
    clock.came("nightly", ago_ms=-200)
    control.pause_schedule("nightly")
    control.pause_name("app.mail", new=True)
    desk.push("b", name="app.mail")
    desk.exchange()
    wait_until(lambda: "has missed runs" in str(inspect.snapshot().alarms))
    alarms = inspect.snapshot().alarms
    verbs = {alarm.verb for alarm in alarms}
    assert {"resume_lane", "resume_schedule", "resume_name"} <= verbs
    shown = [unescape(part) for part in administrator.get("/ops/").content.decode().split('<div class="flash ')[1:]]
    for alarm in alarms:
        (flash,) = [part for part in shown if f"Command: <code>{alarm.command}</code>" in part]
        forms = re.findall(r'<form method="post" action="([^"]+)"', flash.partition("</div>")[0])
        assert len(forms) == bool(alarm.verb), alarm
        for address in forms:
            assert administrator.post(address, {"next": "/ops/"}).status_code == 302
            assert alarm.key not in {left.key for left in inspect.snapshot().alarms}


def test_it_says_what_the_snapshot_and_the_command_say(desk: Desk) -> None:
    assert inspect.status() == inspect.status_of(inspect.snapshot())
    break_two(desk)
    found = inspect.status()
    assert [alarm.text for alarm in found.alarms] == [alarm.text for alarm in inspect.snapshot().alarms]
    assert (found.is_well, found.level) == (False, "danger")


def test_it_costs_two_round_trips_and_is_kept_for_a_second(desk: Desk) -> None:
    desk.broker.draw("default", "watchdog", 1)
    inspect.status()
    calls: list[Any] = []
    with desk.client.monitor() as monitor:
        inspect.status(60)
        inspect.status(60)
        desk.client.echo("end")
        for command in monitor.listen():
            if "ECHO" in command["command"].upper():
                break
            if command["client_type"] != "lua":
                calls.append(command["command"].split()[0].upper())
    assert not {"SCAN", "KEYS"} & set(calls)
    assert len(calls) <= 5, calls


def test_a_store_that_answers_late_is_said_after_what_is_worse(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    break_two(desk)
    assert [alarm.level for alarm in inspect.status().alarms] == ["danger", "warning"]
    monkeypatch.setattr(store_health, "SLOW_S", 0.0)
    assert [alarm.level for alarm in inspect.status().alarms] == ["danger", "warning"]
    monkeypatch.setattr(store_health, "CONFIRMED_S", 0.0)
    for found in (inspect.status(), inspect.snapshot()):
        assert [alarm.level for alarm in found.alarms] == ["danger", "warning", "warning"]
        assert found.alarms[1].text.startswith("The store is slow: it needed over half a second to answer.")
        assert found.alarms[1].command == addressed("redis-cli SLOWLOG GET 10", desk.broker.settings.url)


def test_a_store_that_does_not_answer_is_said_and_the_settings_are_still_there(
    desk: Desk, settings: Any, operator: Client
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": "redis://127.0.0.1:1/0"}
    page = operator.get("/ops/settings/")
    assert page.status_code == 200
    assert "The state of the system is unknown" in page.content.decode()


def test_the_command_exits_with_1(desk: Desk, namespace: str) -> None:
    words = [sys.executable, "-m", "django", "queue", "status", "--settings", "tests.settings"]
    well = subprocess.run(words, capture_output=True, text=True)
    assert well.returncode == 0 or "The store is slow" in well.stdout, well.stdout
    break_two(desk)
    found = subprocess.run(words, capture_output=True, text=True)
    assert found.returncode == 1, found.stderr
    assert "mend it: manage.py queue resume bulk --pool default" in found.stdout


@pytest.mark.browser
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_long_remedy_leaves_the_head_of_a_phone_low(language: str, desk: Desk, open_real: Open) -> None:
    name = "shop.orders.send_confirmation_by_mail"
    desk.push(*map(str, range(12)), name=name)
    for lease in desk.claim(12):
        desk.settle(lease, Outcome.ERROR, b"{}", fingerprint="f", title="E", delay_ms=-1)
    desk.exchange(metrics={f"err|{name}": 12})
    page = open_real("audit/", locale=language)
    page.set_viewport_size({"width": 360, "height": 800})
    places = page.eval_on_selector_all(
        "#status form, #status .status-line > a", "all => all.map(each => each.getBoundingClientRect())"
    )
    (form, link) = (place["y"] + place["height"] / 2 for place in places[:2])
    assert abs(form - link) < 4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    hidden = "told => Math.max(told.scrollHeight - told.clientHeight, told.scrollWidth - told.clientWidth)"
    for width, highest in ((360, 96), (768, 96), (1024, 96), (1440, 75)):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator("#status").evaluate("head => head.offsetHeight") <= highest, width
        assert page.eval_on_selector("#status-worst > summary", hidden) <= 1, width
        page.locator("#status-worst > summary").click()  # all of it, with its command
        assert page.eval_on_selector("#status-worst > summary", hidden) <= 1
        expect(page.locator("#status-worst code")).to_be_visible()
        page.locator("#status-worst > summary").click()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_it_lives_and_has_two_lines_at_most(width: int, desk: Desk, open_real: Open) -> None:
    page = open_real("audit/")
    page.set_viewport_size({"width": width, "height": 800})
    expect(page.locator("#status")).to_contain_text("Everything is well.")
    break_two(desk)
    tick(page)
    expect(page.locator("#status .status-line")).to_have_count(2)
    expect(page.locator("#status")).to_contain_text("overdue")
    assert page.locator("#status").evaluate("head => head.offsetHeight") <= (75 if width > 991 else 96)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name=re.compile(r"all \d alarms")).click()  # on a slow machine also that of a late worker
    expect(page.locator(".alarm", has_text="overdue")).to_have_count(1)
    page.get_by_role("button", name="Resume the lane").click()
    expect(page.locator(".alarm", has_text="Lane bulk")).to_have_count(0)
    expect(page.locator(".alarm", has_text="overdue")).to_have_count(1)


def test_the_status_of_the_standin_is_its_snapshots(world: World) -> None:
    assert inspect.status().alarms[0].level == "danger"
