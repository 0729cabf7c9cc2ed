"""The page of a pool, on the real engine."""

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
from tests.support.monitoring import counted_trips
from tests.support.waiting import wait_until

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


def fill_trash(desk: Desk) -> None:
    desk.push("old", "older")
    for lease in desk.claim(5):
        assert desk.settle(lease) == "OK"
    assert {row.word for row in control.delete(["old", "older"])} == {"OK"}


def test_emptying_the_trash_asks_first_and_is_audited(desk: Desk, administrator: Client, operator: Client) -> None:
    fill_trash(desk)
    assert "Empty the trash" in plain(administrator)
    assert "Empty the trash" not in plain(operator)
    assert operator.post(f"{PAGE}_empty_trash", {"next": PAGE, "confirmed": "1"}).status_code == 403
    asked = administrator.post(f"{PAGE}_empty_trash", {"next": PAGE}).content.decode()
    assert "2 deleted tasks are in the trash." in asked
    assert "Empty the trash of default" in asked
    assert inspect.trash("default") == 2
    answer = administrator.post(f"{PAGE}_empty_trash", {"next": PAGE, "confirmed": "1"}, follow=True)
    assert "Empty the trash: default. Its tasks cannot be restored." in answer.content.decode()
    assert inspect.trash("default") == 0
    entry = AuditEntry.objects.get(verb="empty_trash", outcome="done")
    assert (entry.target, entry.before, entry.changed) == ("default", {"tasks": 2}, 2)


def test_a_trash_that_one_click_does_not_empty_says_how_many_tasks_are_left(
    desk: Desk, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.pool.EMPTYING_S", 0.0)
    monkeypatch.setattr("queueops.redis.broker.maintenance.BATCH", 1)
    fill_trash(desk)
    answer = administrator.post(f"{PAGE}_empty_trash", {"next": PAGE, "confirmed": "1"}, follow=True)
    assert "1 deleted task is left in the trash. Empty it again." in answer.content.decode()
    assert AuditEntry.objects.get(verb="empty_trash").outcome == "partly"


def test_the_alarm_of_a_full_store_has_a_button_that_empties_the_trash(desk: Desk, administrator: Client) -> None:
    fill_trash(desk)
    client, key = desk.client, "maxmemory"
    before = client.config_get(key)[key]
    wait_until(lambda: not client.info("memory")["lazyfree_pending_objects"])  # of the test before
    client.setrange("filler", 32_000_000, "x")  # beside it, the server's own buffers, which come and go, weigh nothing
    client.config_set(key, int(client.info("memory")["used_memory"] / 0.93))  # the alarm begins at 0.85
    try:
        page = administrator.get("/ops/").content.decode()
        assert "manage.py queue trash --empty" in page
        assert f'<form method="post" action="{PAGE}_empty_trash">' in page
        administrator.post(f"{PAGE}_empty_trash", {"next": "/ops/", "confirmed": "1"})
        assert inspect.trash("default") == 0
        assert "CONFIG SET maxmemory" in administrator.get("/ops/").content.decode()
    finally:
        client.config_set(key, before)
        client.delete("filler")


def test_it_tells_no_number_of_lanes_that_the_snapshot_does_not_know(desk: Desk, viewer: Client) -> None:
    for number in range(18):
        desk.push(f"m{number}", lane=f"lane-{number}")
    assert "8 more" in plain(viewer)
    for number in range(18, 58):
        desk.push(f"m{number}", lane=f"lane-{number}")
    assert "38 more" not in plain(viewer)
    assert "All lanes" in plain(viewer)


def test_it_costs_few_round_trips(desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    desk.broker.draw(desk.pool, "w", 60_000)
    viewer.get(PAGE)
    with counted_trips() as trips:
        viewer.get(PAGE)
    assert trips.made <= 5
