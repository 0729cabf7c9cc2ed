"""Alarm lines: each alarm is one line of the overview, and the figures stay on the first screen."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from playwright.sync_api import expect

from queueops.redis.broker import get_broker
from tests.console.browsing import browsing, serving, tick
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
CUT = "texts => texts.map(text => text.scrollHeight - text.clientHeight)"


@pytest.mark.browser
def test_each_alarm_is_one_line_and_its_command_and_consequences_open_with_a_click(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    desk = Desk(get_broker())
    desk.client.hset(desk.keys.clock, "tick", desk.now() - 20_000)
    desk.client.zadd(desk.keys.agenda, {"gone": 1})
    for number in range(7):
        desk.push(f"a{number}", lane=f"{number}-a-lane-with-a-name-{'x' * 70}")
        desk.broker.lane("default", f"{number}-a-lane-with-a-name-{'x' * 70}", paused=1)
    with serving() as url, browsing(url) as opened:
        page = opened("")
        page.set_viewport_size({"width": 1440, "height": 900})
        line = page.locator(".alarm", has_text="No watchdog serves")
        expect(line).to_contain_text("and 1 consequence")
        shown = page.locator(".alarm").locator("visible=true")
        expect(shown).to_have_count(5)
        assert max(shown.evaluate_all("lines => lines.map(line => line.offsetHeight)")) <= 44
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 900})
            texts = page.locator(".alarm :is(summary, .alarm-text):visible")
            assert max(texts.evaluate_all(CUT)) <= 1, "all of each text stands there"
        page.set_viewport_size({"width": 1440, "height": 900})
        assert page.locator(".figures").first.evaluate("figures => figures.getBoundingClientRect().bottom") < 900
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(line.locator("code")).to_be_hidden()
        line.locator("summary").click()
        expect(line.locator("code")).to_have_text("manage.py watchdog")
        expect(line.locator("li")).to_contain_text("over 5 s overdue")
        tick(page)
        expect(line.locator("code")).to_be_visible()
        page.get_by_text("4 more alarms").click()
        expect(shown).to_have_count(9)
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_head_of_each_page_has_the_time_and_the_remedy_of_the_worst_alarm(
    namespace: str, monkeypatch: pytest.MonkeyPatch, viewer: Client, administrator: Client
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
    desk, page = Desk(get_broker()), "/ops/lanes/?f=slow"
    desk.tick()
    desk.broker.beat("default", "w1", {"names": "", "slots": 4, "state": "live"})
    desk.push("a1", lane="slow")
    desk.broker.lane("default", "slow", paused=1)
    for address, headers in ((page, {}), ("/ops/_status?v=0", {"HX-Current-URL": page})):
        head = administrator.get(address, headers=headers).content.decode().partition("<main")[0]
        assert '<small class="alarm-since">' in head
        form = re.search(r'<form method="post" action="[^"]+resume[^"]*">(.*?)</form>', head)
        assert form
        assert f'name="next" value="{page}"' in form[1]
        assert "Resume the lane" in form[1]
        assert "Resume the lane" not in viewer.get(address, headers=headers).content.decode()
