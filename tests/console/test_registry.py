"""The pages of the registry, on the real engine."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from django.test import Client

from console.diagram.run_bars import PLACES, WIDTH, bars
from queueops import inspect, task
from queueops.inspect import NameRun
from queueops.model.contracts import Outcome
from queueops.model.history import LEVELS, MINUTE, Row
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from tests.inspecting.errors import stored
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips, round_trips

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


@pytest.fixture(autouse=True)
def bill() -> Iterator[None]:
    @task(name="shop.bill", pool="mail", cron="0 3 * * *", meta={"token": "hunter2"}, retries=7)
    def bill(number: int, password: str = "hunter2") -> None:
        """Bill an order.

        The second paragraph.
        """

    yield
    registry.unregister("task", bill.name)


def test_the_list_leads_to_each_task(desk: Desk, viewer: Client) -> None:
    beat(desk, "host:7", names="shop.bill,far/away")
    page = viewer.get("/ops/registry/?f=shop.bill").content.decode()
    assert "shop.bill" in page
    assert "Bill an order." in page
    assert "(number: int, password: str = [redacted]) -&gt; None" in page
    assert 'href="/ops/registry/shop.bill/"' in page
    assert 'href="/ops/schedules/shop.bill/"' in page
    page = viewer.get("/ops/registry/?f=far/away").content.decode()
    assert 'href="/ops/registry/far~away/"' in page
    assert "only in workers" in page
    assert 'href="/ops/registry/" ' in viewer.get("/ops/").content.decode()


def test_a_task_tells_all_that_is_known_of_it(desk: Desk, operator: Client) -> None:
    beat(desk, "host:7", names="shop.bill,far/away")
    page = operator.get("/ops/registry/shop.bill/").content.decode()
    for text in ("The second paragraph.", "0 3 * * *", "host:7", "retries", "mail", "/ops/tasks/?name=shop.bill"):
        assert text in page
    assert "hunter2" not in page
    assert "No live worker reports that it knows" not in page
    far = operator.get("/ops/registry/far~away/").content.decode()
    assert "This process does not have the code of the task." in far
    assert "host:7" in far


def test_a_task_that_no_worker_knows_says_what_follows(desk: Desk, operator: Client) -> None:
    page = operator.get("/ops/registry/shop.bill/").content.decode()
    assert "No live worker reports that it knows this task. Pushed tasks wait until a worker knows it." in " ".join(
        page.split()
    )
    assert operator.get("/ops/registry/no.such/").status_code == 404


@pytest.mark.parametrize("name", ["callback", "bulk_action", "download"])
def test_a_name_of_the_library_is_not_called_unknown(desk: Desk, viewer: Client, name: str) -> None:
    desk.push("a", name=name)
    beat(desk, "host:7", names="shop.bill")
    page = viewer.get(f"/ops/registry/{name}/").content.decode()
    assert "QueueOps itself pushes and runs these tasks." in page
    assert "Options" not in page
    assert "does not have" not in page
    assert "No live worker reports this name" not in page
    assert not inspect.is_own_name("shop.bill")


def test_a_name_tells_its_figures_runs_errors_lanes_and_schedules(desk: Desk, operator: Client) -> None:
    desk.push("ran", "fell", name="shop.bill", lane="mails")
    first, second = desk.claim(2)
    desk.settle(first)
    desk.settle(second, Outcome.ERROR, delay_ms=-1, **stored("f1"))
    desk.push("waits", name="shop.bill", lane="mails")
    desk.exchange(metrics={"ok|shop.bill": 1, "err|shop.bill": 1, "run|shop.bill|20": 2})
    desk.client.zadd(desk.keys.names, {"shop.bill": 1})
    page = operator.get("/ops/registry/shop.bill/").content.decode()
    for link in ("/ops/tasks/ran/?pool=default", "/ops/tasks/fell/?pool=default", "/ops/errors/f1/"):
        assert f'href="{link}"' in page
    assert "2 runs, the latest at the right" in page
    assert "name=shop.bill&amp;state=pending" in page
    assert "name=shop.bill&amp;pool=default&amp;lane=mails" in page
    assert 'href="/ops/lanes/default/mails/"' in page
    assert "50%" in page
    found = re.search(r'hx-get="(/ops/registry/shop.bill/_live[^"]+)"', page)
    assert found is not None
    live = operator.get(html.unescape(found[1]))
    assert live.status_code in (200, 204)
    assert operator.get("/ops/registry/shop.bill/_live").content.decode().count("<rect") == 4
    for place in ("/ops/tasks/ran/", "/ops/errors/", "/ops/errors/f1/", "/ops/tasks/?name=shop.bill"):
        assert 'href="/ops/registry/shop.bill/"' in operator.get(place).content.decode(), place


def test_a_name_tells_for_which_keys_its_tasks_wait(desk: Desk, viewer: Client) -> None:
    desk.push("a", "b", "c", "d", name="shop.mail", own=(("lk", "user_id=42"), ("lm", 2)))
    desk.push("e", "f", name="shop.mail", own=(("lk", "user_id=7"), ("lm", 1)))
    desk.push("g", name="shop.mail", own=(("lk", "user_id=9"), ("lm", 1)))
    desk.claim(1)
    page = viewer.get("/ops/registry/shop.mail/").content.decode().replace("<wbr>", "")
    assert re.findall(r"user_id=\d+", page) == ["user_id=42", "user_id=7"]
    for text in ("Keys that wait", "2 keys have all of their turns taken", "2 wait", "1 run, 1 ready", "/ops/tasks/c/"):
        assert text in page
    first, _ = re.findall(r'href="(/ops/tasks/\?[^"]+)">\d wait', page)
    held = viewer.get(html.unescape(first)).content.decode()
    assert [f"/ops/tasks/{id}/" in held for id in "abcdefg"] == [False, *[True] * 3, *[False] * 3]
    why = viewer.get("/ops/tasks/c/why/").content.decode()
    assert "It waits for its key user_id=42: 1 of 2 run, 1 ready (a)." in why
    assert '<a class="btn btn-sm" href="/ops/registry/shop.mail/">See the name</a>' in why
    assert "queue fsck" not in why


def test_a_name_that_only_the_store_knows_has_a_page(desk: Desk, viewer: Client) -> None:
    desk.push("a", name="shop.old")
    page = viewer.get("/ops/registry/shop.old/").content.decode()
    assert "No live worker reports this name" in page
    assert "No kept task of this name has begun." in page


@pytest.mark.parametrize("range", ["1h", "24h", "14d"])
def test_the_page_of_a_name_has_charts_of_its_past(desk: Desk, viewer: Client, range: str) -> None:
    desk.push("a", name="shop.bill")
    begun = desk.now() - MINUTE.step_ms
    for level in LEVELS:
        row = Row(came=120, ended=60, runs=(20, 60))
        desk.broker.keep_history(desk.pool, level, {level.slot(begun): {"n|shop.bill": row}}, level.slot(begun))
    page = viewer.get("/ops/registry/shop.bill/", {"range": range}).content.decode()
    assert f'<a href="?range={range}#history" aria-current="true">' in page
    assert 'aria-label="Throughput. in: ' in page
    assert "range=" + range in re.findall(r'hx-get="(/ops/_history[^"]+name=shop.bill[^"]*)"', page)[0]


def test_the_page_of_a_name_costs_five_round_trips(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.push("a", name="shop.bill")
    operator.get("/ops/registry/shop.bill/")
    inspect.status(60)  # all pages share it
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    with counted_trips() as trips:
        asked = round_trips(desk, lambda: operator.get("/ops/registry/shop.bill/"))
    assert trips.made <= 5, asked.sent
    assert asked.whole == []
    assert sum(command.startswith("FCALL history_") for command in asked.sent) == 2  # a day and an hour, at once


@pytest.mark.parametrize(("page", "most"), [("", 5), ("lanes/", 4), ("registry/", 3), ("_history?range=14d", 2)])
def test_a_range_of_history_is_one_call(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch, page: str, most: int
) -> None:
    desk.push("a", name="shop.bill")
    for warm in ("", "_history"):
        operator.get(f"/ops/{warm}")
    inspect.status(60)
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    with counted_trips() as trips:
        asked = round_trips(desk, lambda: operator.get(f"/ops/{page}"))
    assert trips.made <= most, asked.sent
    assert asked.whole == []


def test_a_single_run_is_a_narrow_bar_at_the_right() -> None:
    run = NameRun(id="a", pool="default", state="succeeded", lane="default", attempt=1, begun_ms=1_000, ended_ms=2_000)
    (bar,) = bars((run,), 3_000)
    assert (bar.left, bar.took_ms) == (WIDTH * (PLACES - 1), 1_000)
    many = bars((run,) * PLACES, 3_000)
    assert [many[0].left, many[-1].left] == [0, bar.left]


def test_the_lanes_of_the_overview_name_their_pools_if_there_are_several(desk: Desk, viewer: Client) -> None:
    def lanes() -> str:
        text = viewer.get("/ops/").content.decode()
        return text[text.index('id="lanes-title"') : text.index("</table>", text.index('id="lanes-title"'))]

    desk.push("a", lane="mail")
    assert '<span class="under">' not in lanes()
    Desk(desk.broker, "far").push("b")
    assert '<span class="under">far</span>' in lanes()
    assert '<span class="under">default</span>' in lanes()
