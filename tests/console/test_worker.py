"""The page of a worker, on the real engine; and its rows and line."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable

import pytest
from django.test import Client

from console.diagram import slot_rows
from queueops import inspect
from queueops.inspect import WorkerRow, WorkerRun, WorkerView
from queueops.model.contracts import Outcome
from queueops.model.marks import START, Mark
from queueops.model.memory_line import MINUTES, MemoryLine, read
from queueops.redis.broker import get_broker
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support.monitoring import round_trips

pytestmark = pytest.mark.django_db
PAGE = "/ops/workers/w1/"
NOW = 1_790_000_000_000


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def view_of(*runs: tuple[int, int | None], slots: int = 2, memory: Iterable[tuple[int, int | None]] = ()) -> WorkerView:
    """A worker with runs that began and ended so many seconds ago."""
    facts = {"host": "h", "pid": 1, "version": "1", "pools": ("p",), "busy": 0, "started_ms": 0, "rss": 0}
    return WorkerView(
        row=WorkerRow(id="w1", slots=slots, beat_ms=NOW, **facts),
        now_ms=NOW,
        python="3",
        done=0,
        names=(),
        memory=tuple(memory),
        runs=tuple(
            WorkerRun(
                id=f"r{number}",
                pool="p",
                name="n",
                state="locked" if end is None else "succeeded",
                begun_ms=NOW - begun * 1000,
                ended_ms=None if end is None else NOW - end * 1000,
            )
            for number, (begun, end) in enumerate(runs)
        ),
    )


def test_a_slot_that_hangs_is_shown_after_hundreds_of_later_runs(desk: Desk, viewer: Client) -> None:
    hanging = [[f"h{number}", "shop.hang", desk.now() - 600_000, "default"] for number in range(5)]
    for batch in range(4):
        desk.push(*(f"s{batch}-{number}" for number in range(80)))
        for lease in desk.claim(80):
            desk.settle(lease)
    beat(desk, slots=6, busy=5, running=json.dumps(hanging))
    found = inspect.worker("w1")
    assert found is not None
    assert [run.id for run in found.runs if run.ended_ms is None] == [f"h{number}" for number in range(5)]
    assert viewer.get(PAGE).content.decode().count("shop.hang") >= 5


def test_a_running_task_leads_to_its_worker_and_an_ended_one_names_it(desk: Desk, viewer: Client) -> None:
    desk.push("a")
    lease = desk.lease()
    assert f'href="{PAGE}"' in viewer.get("/ops/tasks/a/").content.decode()
    desk.settle(lease)
    ended = viewer.get("/ops/tasks/a/").content.decode()
    assert f'<a href="{PAGE}"><code>w1</code></a>' in ended


def test_the_list_shows_what_is_wrong_with_a_worker_and_its_page_the_other_facts(desk: Desk, viewer: Client) -> None:
    beat(desk, executor="the sandbox does not answer", facts=json.dumps({"serves": "callbacks"}))
    listed, page = (viewer.get(path).content.decode() for path in ("/ops/workers/", PAGE))
    assert re.findall(r'"under bad">([^<]*)', listed) == ["executor not available: the sandbox does not answer"]
    assert [each in page for each in ("<dd>not available: the sandbox does", "<dd>callbacks")] == [True, True]
    assert "callbacks</dd>" not in listed


def test_it_shows_what_runs_and_what_ran(desk: Desk, viewer: Client) -> None:
    desk.push("good", "bad", "now", "elsewhere", name="shop.mail")
    first, second, third = desk.claim(3)
    desk.settle(first)
    desk.settle(second, Outcome.ERROR, delay_ms=-1)
    desk.claim(1, "w2")
    running = json.dumps([[third.id, "shop.mail", desk.now() - 5000, "default"]])
    memory = MemoryLine()
    memory.note(desk.now() / 1000 - 60, 40 << 20)
    memory.note(desk.now() / 1000, 50 << 20)
    beat(desk, slots=4, busy=1, running=running, memory=str(memory), version="9.1", names="shop.mail")
    found = inspect.worker("w1")
    assert found is not None
    assert sorted((run.id, run.state) for run in found.runs) == [
        ("bad", "failed"),
        ("good", "succeeded"),
        ("now", "locked"),
    ]
    assert [size for _, size in found.memory] == [40 << 20, 50 << 20]
    page = viewer.get(PAGE).content.decode()
    assert page.count("<rect") == 3
    assert page.count('id="slot-') == 4
    for text in (
        "9.1",
        'href="/ops/tasks/now/?pool=default"',
        'href="/ops/registry/shop.mail/"',
        'aria-label="Memory: ',
    ):
        assert text in page
    (url,) = re.findall(r'hx-get="(/ops/workers/w1/_live[^"]+)"', page)
    assert viewer.get(html.unescape(url)).status_code in (200, 204)
    assert f'href="{PAGE}"' in viewer.get("/ops/workers/").content.decode()
    assert viewer.get("/ops/workers/w9/").status_code == 404


def test_it_costs_two_round_trips_however_many_tasks_ended(desk: Desk) -> None:
    for start in range(0, 1000, 250):
        desk.push(*[f"t{number}" for number in range(start, start + 250)])
        for lease in desk.claim(250):
            desk.settle(lease)
    beat(desk)
    inspect.worker("w1")
    asked = round_trips(desk, lambda: inspect.worker("w1"))
    assert len(asked.sent) == 2, asked.sent
    assert len(asked.inside) < 320
    assert asked.whole == []


def test_runs_that_overlap_are_in_rows_of_their_own() -> None:
    found = slot_rows.rows(view_of((60, 30), (50, 20), (30, 10), (5, None), slots=3))
    assert [[bar.run.id for bar in row.bars] for row in found] == [["r0", "r2", "r3"], ["r1"], []]
    assert [row.current.id if row.current else "" for row in found] == ["r3", "", ""]
    first, later, last = found[0].bars
    assert (first.left, first.width) == (0.0, 500.0)
    assert (later.left, later.width) == (500.0, 333.3)
    assert last.left + last.width == pytest.approx(1000, abs=0.2)


def test_runs_that_overlap_by_their_claim_stand_in_the_slots_there_are_and_old_runs_nowhere() -> None:
    found = slot_rows.rows(view_of((9000, 8000), (10, 4), (9, 3), (5, 1), slots=2))
    assert [[bar.run.id for bar in row.bars] for row in found] == [["r1", "r3"], ["r2"]]
    going_on = slot_rows.rows(view_of((10, None), (9, None), (8, 1), slots=1))
    assert [[bar.run.id for bar in row.bars] for row in going_on] == [["r0"], ["r1"], ["r2"]]
    assert slot_rows.begin_of(view_of((9000, 8000))) == NOW - slot_rows.SPAN_MS
    assert slot_rows.begin_of(view_of()) == NOW - slot_rows.LEAST_SPAN_MS


def test_a_line_of_memory_has_the_highest_of_each_minute_of_an_hour() -> None:
    line = MemoryLine()
    assert (str(line), read("")) == ("", ())
    for minute in (0, 0, 2):
        line.note(minute * 60 + 1, (minute + 1) << 20)
    line.note(30, 3 << 20)
    assert str(line) == "0:3072,,3072"
    assert read(str(line)) == ((0, 3 << 20), (60_000, None), (120_000, 3 << 20))
    for minute in range(200):
        line.note(minute * 60, 1 << 20)
    assert len(read(str(line))) == MINUTES
    for odd in ("odd", "1", "x:1", "9" * 40 + ":1", "1:x"):
        assert all(size is None for _, size in read(odd))


def test_memory_is_drawn_with_its_gaps() -> None:
    assert slot_rows.memory(view_of(memory=[(NOW, 1)])) is None
    found = slot_rows.memory(view_of(memory=[(NOW, 100), (NOW, None), (NOW, 50), (NOW, 25)]))
    assert found is not None
    assert (found.highest, found.last, found.d.count("M")) == (100, 25, 2)


def test_a_worker_that_ended_before_it_had_a_history_has_a_page(desk: Desk, viewer: Client) -> None:
    text = "Worker h process 4711 of pool default started, version 1."
    desk.broker.keep_marks("default", (), [Mark(START, "short:1", text, at_ms=desk.now())])
    assert viewer.get("/ops/find/", {"q": "4711"}).headers["Location"] == "/ops/workers/short:1/"
    assert viewer.get("/ops/workers/short:1/").status_code == 200
    assert viewer.get("/ops/workers/short:2/").status_code == 404
