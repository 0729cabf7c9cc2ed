"""The page of a lane, on the real engine."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect
from queueops.model.history import MINUTE, Row
from queueops.redis.broker import get_broker
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips, round_trips

pytestmark = pytest.mark.django_db
PAGE = "/ops/lanes/default/mails/"


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def plain(client: Client, page: str = PAGE) -> str:
    """The words of a page."""
    text = re.sub(r"<[^>]+>", " ", client.get(page).content.decode().replace("<wbr>", ""))
    return " ".join(html.unescape(text).split())


def test_a_lane_shows_both_ends_of_its_queue_and_what_holds_its_slots(desk: Desk, viewer: Client) -> None:
    beat(desk, slots=8)
    desk.push(*[f"t{number:02}" for number in range(25)], name="shop.mail", lane="mails")
    control.set_lane("default", "mails", limit=2)
    desk.push("elsewhere", lane="other")
    desk.exchange(metrics={"ok|shop.mail": 10, "ms|shop.mail": 10_000, "run|shop.mail|40": 10})
    desk.claim(3)
    found = inspect.lane("default", "mails")
    assert found is not None
    assert [task.id for task in found.holders] == ["t00", "t01"]
    assert [task.id for task in found.first] == [f"t{number:02}" for number in range(2, 12)]
    assert [task.id for task in found.last] == [f"t{number:02}" for number in range(24, 14, -1)]
    assert (found.row.ready, found.row.active, found.row.limit) == (23, 2, 2)
    assert found.names == (("shop.mail", 20),)
    assert found.bound == "limit of 2"
    assert 5 < (found.row.drain_s or 0) < 60
    page = plain(viewer)
    for words in ("The lane is at its limit of 2.", "t02", "t24", "t00", "2 at once", "Next to start", "Drains in"):
        assert words in page
    assert "elsewhere" not in page


def test_a_lane_without_a_limit_finds_its_running_tasks(desk: Desk) -> None:
    desk.push("a", "b", lane="mails")
    desk.push("c", lane="other")
    desk.claim(3)
    found = inspect.lane("default", "mails")
    assert found is not None
    assert {task.id for task in found.holders} == {"a", "b"}
    assert found.row.active == 2
    assert (found.first, found.last, found.bound) == ((), (), "")


def test_a_lane_whose_tasks_start_at_once_has_no_estimated_starts(desk: Desk, viewer: Client) -> None:
    beat(desk, slots=8)
    desk.push("a", lane="mails")
    desk.claim(1)
    assert "Starts – Drains in –" in plain(viewer)


def test_it_says_why_its_tasks_wait(desk: Desk, viewer: Client) -> None:
    desk.push("a", lane="mails")
    assert "No live worker serves the lane." in plain(viewer)
    beat(desk, slots=8)
    assert "The tasks wait for a free slot of a worker." in plain(viewer)
    control.pause_lane("default", "mails")
    assert "The lane is paused. No task starts before it is resumed." in plain(viewer)
    control.resume_lane("default", "mails")
    desk.claim(1)
    assert "No task waits in this lane." in plain(viewer)


def test_its_form_and_buttons_act_and_lead_back_to_it(desk: Desk, administrator: Client, viewer: Client) -> None:
    desk.push("a", lane="mails")
    assert "_set" not in viewer.get(PAGE).content.decode()
    answer = administrator.post(f"{PAGE}_set", {"limit": "3", "rate": "", "weight": "2", "next": PAGE})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert administrator.post(f"{PAGE}_pause", {"next": PAGE})["Location"] == PAGE
    found = inspect.lane("default", "mails")
    assert found is not None
    assert (found.row.limit, found.row.weight, found.row.paused) == (3, 2, True)
    assert [entry.verb for entry in AuditEntry.objects.order_by("pk")] == ["set_lane", "pause"]


def test_it_has_charts_of_its_past_and_lists_lead_to_it(
    desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.lane.READING_AGE_S", 60.0)
    desk.push("a", lane="mails")
    slot = MINUTE.slot(desk.now()) - 1
    desk.broker.keep_history(desk.pool, MINUTE, {slot: {"l|mails": Row(came=120, ended=60)}}, slot)
    page = viewer.get(PAGE, {"range": "1h"}).content.decode()
    assert 'aria-label="Throughput. in: ' in page
    for place in ("", "lanes/", "tasks/a/"):
        assert f'href="{PAGE}"' in viewer.get(f"/ops/{place}").content.decode(), place
    page = viewer.get(PAGE, {"range": "1h"}).content.decode()
    (url,) = re.findall(r'hx-get="(/ops/lanes/default/mails/_live[^"]+)"', page)
    assert viewer.get(html.unescape(url)).status_code == 204


def test_a_lane_that_is_not_there_is_not_found(desk: Desk, viewer: Client) -> None:
    desk.push("a")
    for page in ("lanes/default/none/", "lanes/nowhere/default/", "lanes/default/%23a/"):
        assert viewer.get(f"/ops/{page}").status_code == 404
    assert viewer.get("/ops/lanes/default/default/").status_code == 200


def test_it_costs_few_commands_however_many_tasks_wait(desk: Desk, viewer: Client) -> None:
    for start in range(0, 3000, 500):
        desk.push(*[f"t{number}" for number in range(start, start + 500)], lane="mails")
    desk.claim(400)
    viewer.get(PAGE)
    desk.broker.draw(desk.pool, "w", 60_000)
    asked = round_trips(desk, lambda: inspect.lane("default", "mails"))
    assert len(asked.sent) <= 6, asked.sent  # the last four go in one round trip
    with counted_trips() as trips:
        inspect.lane("default", "mails")
    assert trips.made <= 3
    assert len(asked.inside) < 1500
    assert asked.whole == []
