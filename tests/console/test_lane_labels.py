"""What pages call a lane whose name has a digest, and an error of the past; and that the status head tells of now."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from console.pages.history import written
from console.ui.list_order import in_place
from queueops import inspect, jobs
from queueops.inspect import LaneRow
from queueops.inspect.history.moment import ERRORS
from queueops.inspect.lane_labels import TITLES
from queueops.inspect.redaction import concealing
from queueops.kinds.jobs.aggregations.lane_names import lane_of_aggregation
from queueops.management.queue.task_view import shown_status
from queueops.model.contracts import Outcome
from queueops.model.history import MINUTE, Row
from queueops.redis.broker import get_broker
from tests.console.test_past import DAY_MS, plain
from tests.inspecting.test_queue_command import queue
from tests.kernel.desk import POOL, Desk
from tests.support.monitoring import counted_trips

pytestmark = pytest.mark.django_db
SHOP = "Trödel & Söhne"
LANE = lane_of_aggregation(SHOP)
SHORT = f"aggr:={LANE.partition('=')[2][:8]}…"


@pytest.fixture(autouse=True)
def desk(namespace: str) -> Iterator[Desk]:
    """A store whose titles this process does not know."""
    TITLES.forget()
    ERRORS.forget()
    yield Desk(get_broker())
    TITLES.forget()
    ERRORS.forget()


@pytest.fixture
def job(desk: Desk) -> str:
    """A job of an aggregation whose lane has a digest."""
    return jobs.submit(aggregation=SHOP, url="http://93.184.216.34/x").id


def past_of(desk: Desk) -> str:
    """A kept moment of that lane and of an error; its address."""
    at = desk.now() - DAY_MS
    rows = {"p": Row(came=1), f"l|{LANE}": Row(waiting=7), "e|f1": Row(failed=3)}
    desk.broker.keep_history(POOL, MINUTE, {MINUTE.slot(at): rows}, MINUTE.slot(at))
    return f"/ops/?at={written(at)}"


@pytest.mark.parametrize(
    "path",
    [
        "/ops/tasks/",
        "/ops/tasks/{job}/",
        f"/ops/tasks/?lane={LANE}",
        "/ops/tasks/{job}/why/",
        "/ops/registry/download/",
    ],
)
def test_a_page_has_the_text_in_place_of_the_digest(job: str, operator: Client, path: str) -> None:
    shown = plain(operator.get(path.format(job=job)).content.decode())
    assert f"aggr:{SHOP}" in shown
    assert LANE not in shown


def test_a_terminal_shows_the_text_in_place_of_the_digest_and_takes_it(job: str, desk: Desk) -> None:
    for shown in (queue("list"), shown_status(inspect.snapshot())):
        assert f"  aggr:{SHOP}  " in shown or f"\naggr:{SHOP}  " in shown
        assert LANE not in shown
    queue("pause", f"aggr:{SHOP}")
    row = next(row for row in inspect.lanes(POOL) if row.lane == LANE)
    assert row.paused
    with pytest.raises(CommandError, match="aggr:unknown shop"):
        queue("pause", "aggr:unknown shop")


@pytest.mark.parametrize("lane", ["default", "tenant:=x", "a:=", f"a:={'g' * 64}"])
def test_a_lane_without_a_digest_keeps_its_name(lane: str) -> None:
    assert inspect.lane_label(lane) == lane


def test_a_title_is_read_once(job: str, operator: Client) -> None:
    inspect.know_lanes([(POOL, LANE)])
    with counted_trips() as trips:
        inspect.know_lanes([(POOL, LANE), (POOL, "default")])
    assert trips.made == 0
    assert inspect.lane_label(LANE) == f"aggr:{SHOP}"


def test_a_lane_that_is_gone_has_the_begin_of_its_digest_and_is_asked_for_once(desk: Desk) -> None:
    inspect.know_lanes([(POOL, LANE)])
    with counted_trips() as trips:
        inspect.know_lanes([(POOL, LANE)])
    assert trips.made == 0
    assert inspect.lane_label(LANE) == SHORT


def test_the_notice_and_the_audit_log_name_the_lane_of_an_action_by_its_text(job: str, administrator: Client) -> None:
    paused = administrator.post(f"/ops/lanes/{POOL}/{LANE}/_pause", {"next": "/ops/audit/"}, follow=True)
    shown = plain(paused.content.decode())
    assert f"Pause: {POOL}/aggr:{SHOP}." in shown
    assert shown.count(f"{POOL}/aggr:{SHOP}") == 2, "the row has it too"


def test_the_past_has_the_titles_of_lanes_and_the_types_of_errors(job: str, desk: Desk, viewer: Client) -> None:
    desk.push("a", name="shop.mail")
    leases = iter(desk.lease, None)
    desk.settle(
        next(lease for lease in leases if lease.id == "a"),
        Outcome.ERROR,
        delay_ms=-1,
        fingerprint="f1",
        title="shop.errors.CardDeclined: secret 7",
    )
    shown = plain(viewer.get(past_of(desk)).content.decode())
    assert f"aggr:{SHOP}" in shown
    assert "CardDeclined shop.mail 3" in shown
    assert "secret 7" not in shown


def test_a_past_page_that_knows_nothing_yet_asks_in_few_round_trips(
    job: str, desk: Desk, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    monkeypatch.setattr("console.pages.history.READING_AGE_S", 15.0)
    with concealing():  # as for a viewer
        inspect.status(60)  # all pages share it, and the clock of the store
        inspect.series()
    address = past_of(desk)
    TITLES.forget()
    with counted_trips() as trips:
        shown = plain(viewer.get(address).content.decode())
    assert f"aggr:{SHOP}" in shown
    assert trips.made <= 5


def test_what_is_gone_is_shown_by_its_digest_and_its_fingerprint(desk: Desk, viewer: Client) -> None:
    desk.broker.announce(POOL)
    shown = plain(viewer.get(past_of(desk)).content.decode())
    assert SHORT in shown
    assert "f1 3" in shown


def test_the_status_head_of_a_past_page_says_that_it_tells_of_now(job: str, desk: Desk, viewer: Client) -> None:
    address = past_of(desk)
    page = viewer.get(address).content.decode()
    head = page.partition('id="status"')[2].partition("</section>")[0]
    assert "<strong>Now:</strong>" in head
    assert "at=now" in head
    again = viewer.get("/ops/_status?v=none&at=now").content.decode()
    assert "<strong>Now:</strong>" in again
    assert "<strong>Now:</strong>" not in viewer.get("/ops/").content.decode()


def test_lanes_are_in_the_order_of_the_texts_that_are_shown() -> None:
    titles = {"f" * 64: "closed shop", "0" * 64: "flower shop", "8" * 64: "books"}
    rows = [
        LaneRow(pool=POOL, lane=f"aggr:={digest}", ready=0, active=0, title=title) for digest, title in titles.items()
    ]
    assert [lane.title for lane in in_place(rows)] == ["books", "closed shop", "flower shop"]


def test_the_command_for_a_name_has_the_labels_of_its_lanes(
    job: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    found = inspect.task(job)
    call_command("queue", "name", found.name)
    assert f"lanes    {found.pool}/{LANE} (aggr:{SHOP})" in capsys.readouterr().out
