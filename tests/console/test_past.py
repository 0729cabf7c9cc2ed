"""Pages as they were at a moment, on the real engine."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import timezone

from console.pages.history import moment, written
from queueops import inspect
from queueops.model.contracts import Outcome
from queueops.model.history import HOUR, LEVELS, MINUTE, Level, Row
from queueops.redis.broker import get_broker
from tests.kernel.desk import POOL, Desk
from tests.support.monitoring import counted_trips, round_trips

pytestmark = pytest.mark.django_db
DAY_MS = 86_400_000
PAGES = ("", "lanes/default/mails/", "registry/shop.mail/", "errors/f1/", "workers/w1/", "pools/default/")


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    desk.push("a", "b", name="shop.mail", lane="mails")
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, fingerprint="f1", title="ValueError: no")
    desk.broker.beat(POOL, "w1", {"host": "h", "pid": 1, "pools": POOL, "state": "live", "slots": 1})
    return desk


def keep(desk: Desk, ms: int, level: Level = MINUTE, pool: str = POOL, **more: Row) -> None:
    """Keep the step of this time, with 120 pushes for each minute of it."""
    row = Row(came=120, ended=60, failed=30, waiting=4321, running=7, oldest_ms=900_000)
    worker = Row(ended=180, failed=4321, running=7, run_ms=30, able_ms=40, memory=50 << 20)
    rows = {"p": row, "l|mails": row, "n|shop.mail": row, "e|f1": Row(failed=4321), "w|w1": worker}
    rows |= {"s|failed": Row(waiting=55)} | more
    desk.broker.announce(pool)
    desk.broker.keep_history(pool, level, {level.slot(ms): rows}, level.slot(ms))


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text.replace("<wbr>", ""))).split())


def test_a_moment_has_the_figures_of_its_step_of_all_pools(desk: Desk) -> None:
    at = desk.now() - DAY_MS
    keep(desk, at)
    keep(desk, at, pool="other", p=Row(came=60, waiting=10, oldest_ms=5))
    found = inspect.past(at)
    assert found.at_ms == MINUTE.slot(at) * MINUTE.step_ms
    assert (found.total.came, found.total.waiting, found.total.oldest_ms) == (180, 4331, 900_000)
    assert [(row.pool, row.point.came) for row in found.pools] == [("default", 120), ("other", 60)]
    assert [(row.name, row.point.failed) for row in found.names] == [("shop.mail", 60)]
    assert {(row.pool, row.lane) for row in found.lanes} == {("default", "mails"), ("other", "mails")}
    assert found.states == {"failed": 110}
    assert found.row(pool="default") == found.pools[0].point
    assert found.row(pool="default", lane="none") is None
    assert found.row(error="f1").failed == 2 * 4321  # type: ignore[union-attr]
    assert found.row(worker="w1", pool="default").busy_share == 0.75  # type: ignore[union-attr]


def test_a_moment_without_figures_has_no_row_of_all_pools(desk: Desk) -> None:
    at = desk.now() - 300_000
    assert inspect.past(at).row() is None
    keep(desk, at)
    found = inspect.past(at)
    assert found.row() == found.total


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.word)
def test_the_shortest_step_that_is_still_kept_is_taken(desk: Desk, level: Level) -> None:
    at = desk.now() - {"1m": 1, "10m": 3, "1h": 20}[level.word] * DAY_MS
    assert not inspect.past(at).total.known
    keep(desk, at, level)
    assert (inspect.past(at).step_ms, inspect.past(at).total.came) == (level.step_ms, 120)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_figures_of_a_moment_and_the_way_back(desk: Desk, viewer: Client, page: str) -> None:
    at = desk.now() - DAY_MS
    keep(desk, at)
    asked = {"at": written(at), "range": "1h"}
    text = viewer.get(f"/ops/{page}", asked).content.decode()
    said = f"{datetime.fromtimestamp(at / 1000, UTC):%H:%M} yesterday"
    assert f"Figures of {said}." in plain(text)
    assert "4,321" in text
    assert '<a class="btn btn-sm" href="?range=1h">Back to live</a>' in text
    assert 'class="mark"' in text
    for direction, other in (("Earlier", at - 60_000), ("Later", at + 60_000)):
        (link,) = re.findall(rf'href="([^"]+)">{direction}</a>', text)
        assert html.unescape(link) == f"?range=1h&at={written(other).replace(':', '%3A')}#history"
    assert not re.findall(r'hx-get="[^"]*(_live|_overview|_history)', text)
    live = viewer.get(f"/ops/{page}").content.decode()
    assert "Back to live" not in live
    assert 'name="at"' in live


@pytest.mark.parametrize(("known", "minutes", "chosen"), [(10, 5, "1h"), (90, 80, "24h"), (300, 5, "24h")])
def test_a_moment_of_a_young_store_has_the_shortest_range_that_shows_it(
    desk: Desk, viewer: Client, known: int, minutes: int, chosen: str
) -> None:
    for level in LEVELS[:2]:
        for ago in range(level.step_ms // 60_000, known, level.step_ms // 60_000):
            keep(desk, desk.now() - ago * 60_000, level)
    text = viewer.get("/ops/", {"at": written(desk.now() - minutes * 60_000)}).content.decode()
    assert 'class="mark"' in text
    assert re.findall(r'data-values="[^"]*range=(\w+)', text) == [chosen]


def test_an_empty_moment_is_now(desk: Desk, viewer: Client) -> None:
    keep(desk, desk.now() - 300_000)
    text = viewer.get("/ops/?at=").content.decode()
    assert re.findall(r'data-values="[^"]*range=(\w+)', text) == ["1h"]
    assert "<strong>Now:</strong>" not in text


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_time_between_two_moments(desk: Desk, viewer: Client, page: str) -> None:
    at = MINUTE.slot(desk.now() - DAY_MS) * MINUTE.step_ms
    keep(desk, at)
    asked = {"since": written(at - 600_000), "until": written(at + 600_000)}
    text = viewer.get(f"/ops/{page}", asked).content.decode()
    said = [datetime.fromtimestamp((at + by) / 1000, UTC).strftime("%Y-%m-%d %H:%M") for by in (-600_000, 600_000)]
    assert f"{said[0]} – {said[1]} Back to live" in plain(text)
    history = text[text.index('<section id="history"') :]
    assert "data-live" not in history[: history.index(">")]
    assert '<figure class="chart' in history
    (url,) = re.findall(r'data-values="([^"]+)"', history)
    values = viewer.get(html.unescape(url)).json()
    assert values["step"] == MINUTE.step_ms
    place = (at - values["from"]) // values["step"]
    assert any(row[place] for row in values["charts"].values())
    assert values["times"][place] == f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M}"


def test_two_moments_that_are_unreadable_or_too_close_are_mended(desk: Desk, viewer: Client) -> None:
    at = desk.now() - DAY_MS
    for asked in ({"since": "x", "until": written(at)}, {"since": written(desk.now() + DAY_MS)}):
        assert "data-live" in viewer.get("/ops/", asked).content.decode()
    narrow = viewer.get("/ops/", {"since": written(at), "until": written(at - DAY_MS)})
    assert narrow.status_code == 200
    assert 'data-points="10"' in narrow.content.decode()


def test_the_overview_of_a_moment_lists_pools_lanes_and_names(desk: Desk, viewer: Client) -> None:
    at = desk.now() - DAY_MS
    keep(desk, at)
    text = viewer.get("/ops/", {"at": written(at)}).content.decode()
    moment_of = written(MINUTE.slot(at) * MINUTE.step_ms).replace(":", "%3A")
    for page in PAGES[1:4] + PAGES[5:]:
        assert f'href="/ops/{page}?at={moment_of}"' in text
    assert "failed" in plain(text)
    empty = plain(viewer.get("/ops/", {"at": written(at - HOUR.step_ms)}).content.decode())
    assert "The history has no figures of this time." in empty


def test_the_figures_of_the_overview_have_those_of_yesterday_beside_them(desk: Desk, viewer: Client) -> None:
    assert "yesterday" not in plain(viewer.get("/ops/").content.decode())
    for minutes in (0, 1):  # the page may be asked for in the next minute
        keep(desk, desk.now() - DAY_MS + minutes * MINUTE.step_ms)
    text = plain(viewer.get("/ops/").content.decode())
    for words in ("2.0/s yesterday", "1.0/s yesterday", "4,321 yesterday"):
        assert words in text


def test_an_unreadable_moment_or_one_of_the_future_is_now(viewer: Client, desk: Desk) -> None:
    later = written(desk.now() + DAY_MS)
    for odd in ("", "now", "2026-99-99T00:00", "9" * 300, later, "0001-01-01T00:00"):
        assert moment({"at": odd}) is None
        assert "Back to live" not in viewer.get("/ops/", {"at": odd}).content.decode()
    with timezone.override("Europe/Berlin"):
        assert moment({"at": "2025-07-01T12:00"}) == moment({"at": "2025-07-01T10:00Z"})


def test_the_overview_of_a_moment_leaves_names_out_that_did_nothing(desk: Desk, viewer: Client) -> None:
    at = desk.now() - DAY_MS
    keep(desk, at, **{"n|shop.idle": Row(), "n|shop.waits": Row(waiting=3)})
    page = plain(viewer.get(f"/ops/?at={written(at)}").content.decode())
    assert "shop.waits" in page
    assert "shop.idle" not in page
    assert inspect.past(at).row(name="shop.idle") is not None, "the page of the name has its zeros"


def test_the_overview_of_a_moment_names_how_many_rows_it_does_not_show(desk: Desk, viewer: Client) -> None:
    at = desk.now() - DAY_MS
    lanes = {f"l|lane-{number}": Row(came=1) for number in range(52)}
    errors = {f"e|e{number}": Row(failed=1) for number in range(30)}
    keep(desk, at, MINUTE, POOL, **lanes, **errors)
    text = plain(viewer.get("/ops/", {"at": written(at)}).content.decode())
    assert re.findall(r"(\d+) more", text) == ["3", "11"]


def test_a_worker_that_has_ended_has_its_history(desk: Desk, viewer: Client) -> None:
    at = desk.now() - DAY_MS // 2
    for level in (MINUTE, LEVELS[1]):
        keep(desk, at, level, POOL, **{"w|w9": Row(ended=180, failed=4321, running=7, run_ms=30, able_ms=40)})
    now = plain(viewer.get("/ops/workers/w9/", {"range": "24h"}).content.decode())
    then = plain(viewer.get("/ops/workers/w9/", {"at": written(at)}).content.decode())
    assert "This worker has ended." in now
    assert "Runs" in now
    assert "75%" in then
    for query in ({}, {"at": written(at)}, {"range": "24h"}):
        assert viewer.get("/ops/workers/w8/", query).status_code == 404


@pytest.mark.parametrize("page", [*PAGES, "workers/w9/"])
def test_a_moment_costs_few_round_trips(desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    at = desk.now() - DAY_MS
    keep(desk, at, MINUTE, POOL, **{"w|w9": Row(ended=180)})
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    address = f"/ops/{page}?at={written(at)}"
    desk.broker.draw(POOL, "w", 60_000)
    viewer.get(address)
    with counted_trips() as trips:
        asked = round_trips(desk, lambda: viewer.get(address))
    assert trips.made <= 5, asked.sent
    assert asked.whole == []
