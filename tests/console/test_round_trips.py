"""What each page asks of the store: at most five round trips, and never all keys or a whole key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import pytest
from django.test import Client

from console.actions.operations import ENGINE
from console.audit.log import new_entry
from queueops import control, inspect
from queueops.inspect import TaskQuery
from queueops.inspect.shared_readings import SharedReadings
from tests.support.monitoring import counted_trips, round_trips
from tests.support.specimens import NAME, SICK, WELL, Specimens, specimens

pytestmark = pytest.mark.django_db
MOST, HEAD_AGE_S, WARM = 5, 60.0, SharedReadings.read
POOLS = ("default", SICK, WELL)
OF_ONE_TASK = ("", "attempts/", "timeline/", "log/", "why/", "raw/", "audit/", "_live?tab=summary")
PAGES = (
    *("", "_overview", "_status", "_history", "_history_values", "?range=14d", "settings/", "help/", "audit/"),
    *("tasks/", "tasks/_rows", "tasks/?state=pending", f"tasks/?name={NAME}&pool={SICK}", "tasks/?tag=red"),
    *(
        "tasks/?q=name:*.x -age>1h",
        "tasks/?q=(state:failed or state:retry)",
        "tasks/?sort=-failed",
        "tasks/_complete?text=name:no",
        "lanes/?f=n&sort=-ready",
    ),
    *(f"tasks/l/{part}" for part in OF_ONE_TASK),
    *("tasks/g/", "tasks/g/children/", "tasks/i/", "tasks/r/", "tasks/m/", "mapreduce/"),
    *("errors/", "errors/_rows", "errors/f1/", "errors/f1/_live", "lanes/", "lanes/_rows", f"lanes/{SICK}/narrow/"),
    *("?range=1h", f"pools/{SICK}/", f"pools/{SICK}/_live", "errors/f1/?range=14d", "workers/w1/?range=1h"),
    *(f"lanes/{SICK}/default/_live", "commands/", "commands/_rows", "schedules/", "schedules/_rows"),
    *(f"schedules/hourly/?pool={SICK}", "workers/", "workers/_rows", "workers/w1/", "workers/w1/_live"),
    *("registry/", "registry/_rows", f"registry/{NAME}/", f"registry/{NAME}/_live"),
    *("aggregations/", "callbacks/", "workflows/", "workflows/_rows", "tasks/_search?state=pending&lane=narrow"),
    "workflows/_search?instance=order*",
    *("find/?q=l", "find/?q=nothing-of-this", f"find/?q={NAME}", "schedules/hourly/_live"),
)


def read_cold(readings: SharedReadings[Any], question: Hashable, max_age_s: float, ask: Callable[[], Any]) -> Any:
    """The answer as of a process that has read nothing before but what the head of all pages shows."""
    return WARM(readings, question, max_age_s if max_age_s == HEAD_AGE_S else 0.0, ask)


@pytest.fixture
def desk(namespace: str) -> Iterator[Specimens]:
    """Two pools, with tasks of all kinds."""
    with specimens() as desk:
        desk.broker.lane(WELL, "default", limit=3)
        yield desk


@pytest.mark.parametrize("runs", [False, True], ids=["", "operation"])
def test_a_page_asks_in_few_round_trips_and_for_no_whole_key(
    desk: Specimens, administrator: Client, monkeypatch: pytest.MonkeyPatch, runs: bool
) -> None:
    if runs:
        begin_operation()
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", HEAD_AGE_S)
    monkeypatch.setattr("console.actions.operations.READING_AGE_S", HEAD_AGE_S)
    inspect.status(60)  # all pages share it
    inspect.series()  # the clock of the store is asked for once a minute
    found: dict[str, tuple[int, list[str]]] = {}
    for page in PAGES:
        for pool in POOLS:
            desk.client.delete(desk.broker.keys(pool).sampler)
            desk.broker.draw(pool, "w", 60_000)  # a watchdog writes the snapshot that all pages read
        administrator.get(f"/ops/{page}")  # the library is loaded, and the head of pages has its shared readings
        with counted_trips() as trips, pytest.MonkeyPatch.context() as cold:
            cold.setattr(SharedReadings, "read", read_cold)
            asked = round_trips(desk, lambda page=page: administrator.get(f"/ops/{page}"))
        found[page] = (trips.made, asked.whole)
    assert ("operation-line" in administrator.get("/ops/audit/").content.decode()) is runs
    assert {page: whole for page, (_, whole) in found.items() if whole} == {}
    assert {page: made for page, (made, _) in found.items() if made > MOST} == {}


def test_the_live_updates_of_many_overviews_share_one_snapshot(
    desk: Specimens, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age in ("pages.overview.READING_AGE_S", "pages.history.READING_AGE_S", "ui.render.STATUS_AGE_S"):
        monkeypatch.setattr(f"console.{age}", 60.0)
    inspect.status(60)
    made = []
    for page in ("", "_overview", "_overview", ""):  # a page that is loaded shows what an action has just changed
        with counted_trips() as trips:
            assert administrator.get(f"/ops/{page}").status_code == 200
        made.append(trips.made > 0)
    assert made == [True, False, False, True]


def test_a_question_for_all_matching_tasks_reads_the_list_of_pools_once(
    desk: Specimens, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    inspect.status(60)
    asked = round_trips(desk, lambda: administrator.post("/ops/tasks/_all_cancel?state=pending"))
    assert len([command for command in asked.sent if ":pools " in command]) == 1


def begin_operation() -> None:
    """A bulk action runs in two pools: the head of every page has its bar."""
    begun = control.begin_operation("cancel", TaskQuery(state="pending"))
    assert len(begun) > 1
    facts = {"filter": {"state": "pending"}, "count": 10, "before": {"operations": [list(each) for each in begun]}}
    new_entry("cancel", "state=pending", actor_name="ada", place=ENGINE, **facts)
