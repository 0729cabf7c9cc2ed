"""The page of a pool, on the real engine."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import inspect
from queueops.model.history import MINUTE, Row
from queueops.redis.broker import get_broker
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips

pytestmark = pytest.mark.django_db
PAGE = "/ops/pools/default/"


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    desk.push("a", "b", lane="mails")
    desk.push("c")
    return desk


def plain(client: Client, page: str = PAGE) -> str:
    """The words of a page."""
    return " ".join(
        html.unescape(re.sub(r"<[^>]+>", " ", client.get(page).content.decode().replace("<wbr>", ""))).split()
    )


def paused() -> set[str]:
    return {lane.lane for lane in inspect.lanes() if lane.paused}


def test_it_shows_figures_lanes_by_trouble_workers_and_its_past(
    desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.pool.READING_AGE_S", 60.0)
    beat(desk, slots=4, busy=1, rss=50_000_000, pools="default")
    slot = MINUTE.slot(desk.now()) - 1
    rows = {"p": Row(came=120, ended=60), "l|mails": Row(ended=30), "w|w1": Row(ended=9)}
    desk.broker.keep_history(desk.pool, MINUTE, {slot: rows}, slot)
    text = viewer.get(PAGE).content.decode()
    assert 'aria-label="Throughput. in: ' in text
    assert "<title>30 runs ended, 0 failed in 1" in text
    assert "<title>9 runs ended, 0 failed in 1" in text
    assert "pool=default" in re.findall(r'hx-get="(/ops/_history[^"]+)"', text)[0]
    for words in ("Waiting 3", "mails", "1/4", "pending", "50 MB"):
        assert words in plain(viewer)
    assert "Pause all lanes" not in text
    (url,) = re.findall(r'hx-get="(/ops/pools/default/_live[^"]+)"', viewer.get(PAGE).content.decode())
    assert viewer.get(html.unescape(url)).status_code == 204


def test_lists_lead_to_it_and_one_that_is_not_there_is_not_found(desk: Desk, viewer: Client) -> None:
    beat(desk, pools="default")
    for place in ("", "lanes/", "lanes/default/mails/", "workers/w1/"):
        assert f'href="{PAGE}"' in viewer.get(f"/ops/{place}").content.decode(), place
    assert viewer.get("/ops/pools/nowhere/").status_code == 404


def test_a_pause_asks_first_is_audited_and_can_be_undone(desk: Desk, administrator: Client) -> None:
    asked = administrator.post(f"{PAGE}_pause", {"next": PAGE})
    assert "3 tasks wait in this pool." in asked.content.decode()
    assert "Pause all lanes of default" in asked.content.decode()
    assert paused() == set()
    answer = administrator.post(f"{PAGE}_pause", {"next": PAGE, "confirmed": "1"})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert paused() == {"default", "mails"}
    entry = AuditEntry.objects.get(verb="pause_pool")
    assert (entry.target, entry.before["lanes"]) == ("default", ["default", "mails"])
    administrator.post(f"/ops/audit/{entry.pk}/_undo")
    assert paused() == set()


def test_a_resume_brings_back_all_lanes_and_its_undo_pauses_them(desk: Desk, administrator: Client) -> None:
    administrator.post("/ops/lanes/default/mails/_pause")
    administrator.post(f"{PAGE}_resume")
    assert paused() == set()
    administrator.post(f"/ops/audit/{AuditEntry.objects.get(verb='resume_pool').pk}/_undo")
    assert paused() == {"mails"}


def test_it_costs_few_round_trips(desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    desk.broker.draw(desk.pool, "w", 60_000)
    viewer.get(PAGE)
    with counted_trips() as trips:
        viewer.get(PAGE)
    assert trips.made <= 5
