"""What happened, in the charts: alarms, starts of workers, versions and actions, as lines with text and in a table."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.diagram.chart import WIDTH
from console.diagram.moments import PLACES, TALL, TICK, Happening, legend, line_tops, lines
from console.models import AuditEntry
from console.pages.history import written
from queueops.model.marks import START, Condition, Mark
from queueops.redis.broker import get_broker
from tests.console.browsing import Open
from tests.kernel.desk import POOL, Desk

pytestmark = pytest.mark.django_db
MINUTE_MS = 60_000


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    desk.push("a", name="shop.mail", lane="mails")
    paused = Condition("paused", "Lane mails of pool default is paused; 1 task waits.", "warning")
    full = Condition("full", "The store uses 90% of its memory limit.", "danger")
    started = [
        Mark(START, f"w{number}", f"Worker h process {number} started.", at_ms=desk.now(), version=f"1.{number}")
        for number in (1, 2)
    ]
    desk.broker.keep_marks(POOL, [paused, full], started)
    AuditEntry.objects.create(actor_name="ada", verb="pause_lane", target="default/mails", outcome="done")
    AuditEntry.objects.create(actor_name="eve", verb="cancel", target="state=failed", outcome="denied")
    return desk


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.parametrize("range", ["1h", "24h", "14d"])
def test_the_charts_have_a_line_for_what_happened_and_a_table_has_its_text(
    desk: Desk, viewer: Client, range: str
) -> None:
    desk.broker.draw(POOL, "w", 60_000)
    text = viewer.get("/ops/", {"range": range}).content.decode()
    said = plain(text[text.index('id="history-happened"') :])
    for words in (
        "alarm begins Lane mails of pool default is paused; 1 task waits.",
        "new version Workers of pool default have the version 1.2; before it was 1.1.",
        "worker starts 2 workers of pool default started.",
        "operator's action ada: ",
    ):
        assert words in said
    assert "eve" not in said  # it did nothing
    assert 'href="/ops/audit/' in text[text.index('id="history-happened"') :]
    assert f"at={written(desk.now())[:13]}" in html.unescape(text).replace("%3A", ":")


@pytest.mark.parametrize(
    ("page", "about"), [("lanes/default/mails/", "Lane mails"), ("registry/shop.mail/", "2 workers of pool")]
)
def test_the_page_of_a_lane_or_a_name_has_the_alarms_and_actions_that_name_it(
    desk: Desk, viewer: Client, page: str, about: str
) -> None:
    said = plain(viewer.get(f"/ops/{page}").content.decode())
    assert about in said
    assert "The store uses" not in said[said.index("What happened") :]
    assert ("ada:" in said) is ("lanes" in page)


def test_a_line_is_drawn_at_its_time_and_moments_of_one_place_share_one() -> None:
    def at(minute: float, kind: str = "start", text: str = "x") -> Happening:
        return Happening(round(minute * MINUTE_MS), kind, text)

    found = lines([at(30), at(30.1, "alarm", "it burns"), at(61), at(-1), at(0)], 0, 60 * MINUTE_MS)
    assert [line.x for line in found] == [0, pytest.approx(WIDTH / 2, abs=3), WIDTH]
    assert (found[1].kind, found[1].text) == ("alarm", "alarm begins: it burns\nworker starts: x")
    many = [at(number / 60) for number in range(3600)]
    assert len(lines(many, 0, 60 * MINUTE_MS)) == PLACES
    assert lines(many, 0, 60 * MINUTE_MS)[0].text.endswith("and 32 more")
    tall = [line.x for line in lines(many, 0, 60 * MINUTE_MS) if line.top == 0]
    assert tall == [line.x for line in lines(many, 0, 60 * MINUTE_MS)][-TALL:], "the newest"
    weighty = [at(5, "alarm"), at(20, "action"), at(9, "version"), *(at(number, "end") for number in range(30, 60))]
    drawn = lines(weighty, 0, 60 * MINUTE_MS)
    assert line_tops([("end", 1), ("alarm", 2), *(("version", at) for at in range(TALL))]) == [
        *(TICK, 0, TICK),
        *[0] * (TALL - 1),
    ], "the script draws the same lines"
    assert [line.kind for line in drawn if line.top == 0] == ["alarm", "version", "action", *["end"] * (TALL - 3)]
    assert [line.kind for line in drawn if line.top == TICK] == ["end"] * (33 - TALL)
    assert [kind for kind, _ in legend([at(1), at(2, "alarm")])] == ["alarm", "start"]


@pytest.mark.browser
@pytest.mark.parametrize("scripts", [True, False])
def test_a_browser_draws_the_lines_in_each_chart_and_opens_the_table(open_page: Open, scripts: bool) -> None:
    page = open_page("?range=1h", java_script_enabled=scripts)
    assert page.locator("#history .chart").count() == 6
    line = page.locator("#history-lines .happened-version")
    assert line.evaluate("each => getComputedStyle(each).strokeWidth") == "1px"
    assert page.locator("#history use").count() == 5
    table = page.locator("#history-happened")
    assert not table.get_by_role("table").is_visible()
    table.locator("summary").click()
    assert table.get_by_role("row").count() == 5
    table.get_by_role("row").nth(1).get_by_role("link").first.click()
    page.get_by_text("Back to live").wait_for()
