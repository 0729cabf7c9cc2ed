"""The find box: by id, beginning of an id, name, lane, worker, error type and schedule."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from msgspec.structs import replace
from playwright.sync_api import expect

from queueops import inspect
from queueops.inspect import LookUp, NamedHit, OtherHits, TaskQuery
from queueops.redis.broker import get_broker
from tests.console.browsing import Open
from tests.console.standin import World
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("task-1", "/ops/tasks/task-1/?pool=default"),
        (" a/b:c ", "/ops/tasks/a~b:c/?pool=default"),
        ("a/b", "/ops/tasks/a~b:c/?pool=default"),
        ("count-1#6", "/ops/mapreduce/count-1/6/?pool=default"),
        ("Special.task", "/ops/registry/special.task/"),
        ("slow", "/ops/lanes/default/slow/"),
        ("Wareh", "/ops/pools/warehouse/"),
        ("host:1", "/ops/workers/host:1/"),
        ("", "/ops/tasks/"),
        ("tag=customer-3", "/ops/tasks/?tag=customer-3"),
        (" state = failed ", "/ops/tasks/?state=failed"),
    ],
)
def test_a_single_hit_is_opened_at_once(
    text: str, address: str, world: World, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "facets", lambda query: {"name": [("special.task", 3)], "pool": [("warehouse", 3)]})
    world.states["count-1"] = "aggregating"
    answer = operator.get("/ops/find/", {"q": text})
    assert (answer.status_code, answer.headers.get("Location")) == (302, address)


def test_a_tag_is_found_where_a_task_has_it(namespace: str, operator: Client) -> None:
    desk = Desk(get_broker())
    desk.push("a", tags=("customer-3",))
    answer = operator.get("/ops/find/", {"q": "customer-3"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/ops/tasks/?tag=customer-3")
    for nothing in ("customer-4", "tag=", "state=eroded", "color=red"):
        assert operator.get("/ops/find/", {"q": nothing}).status_code == 404


def test_an_error_is_found_by_its_type_and_a_schedule_by_its_id(
    world: World, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.text = "ValueError"
    page = operator.get("/ops/find/", {"q": "valueerr"}).content.decode()
    assert '<a href="/ops/errors/f00/" data-open>ValueError</a>' in page
    schedule = inspect.schedules()[0]
    monkeypatch.setattr(inspect, "schedules", lambda: inspect.Listing([replace(schedule, id="nightly")]))
    assert operator.get("/ops/find/", {"q": "Night"}).headers["Location"].startswith("/ops/schedules/nightly/")


def test_many_hits_are_listed_and_none_says_what_can_be_found(world: World, operator: Client) -> None:
    page = operator.get("/ops/find/", {"q": "task"}).content.decode()
    assert re.findall(r"<h2>(.*?)</h2>", page)[:2] == ["Tasks", "Names"]
    assert "Older tasks were not searched" in page
    answer = operator.get("/ops/find/", {"q": "<nothing>#"})
    assert answer.status_code == 404
    assert "Nothing was found." in answer.content.decode()
    assert 'value="&lt;nothing&gt;#"' in answer.content.decode()


def test_a_run_of_an_instance_is_opened_and_its_older_run_makes_a_list(
    world: World, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    (newest,) = inspect.tasks(TaskQuery(id="task-2")).rows
    others = (OtherHits(title="Newest runs of workflow instances", rows=(newest,)),)
    find_only(monkeypatch, LookUp(others=others))
    assert operator.get("/ops/find/", {"q": "order"}).headers["Location"] == "/ops/tasks/task-2/?pool=default"
    find_only(monkeypatch, LookUp(others=others, tasks=inspect.tasks(TaskQuery(id="task-1")).rows))
    page = operator.get("/ops/find/", {"q": "order"}).content.decode()
    assert re.findall(r"<h2>(.*?)</h2>", page)[:2] == ["Tasks", "Newest runs of workflow instances"]


def test_an_ended_worker_is_opened_and_in_a_list_each_says_its_process(
    world: World, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = NamedHit(name="a:1", about="a", process="4711")
    ended = NamedHit(name="b:1", about="b", process="4711", ended=True)
    find_only(monkeypatch, LookUp(workers=(ended,)))
    assert operator.get("/ops/find/", {"q": "4711"}).headers["Location"] == "/ops/workers/b:1/"
    find_only(monkeypatch, LookUp(workers=(live, ended)))
    page = operator.get("/ops/find/", {"q": "4711"}).content.decode()
    assert "a, process 4711<" in page
    assert "b, process 4711, has ended<" in page


def find_only(monkeypatch: pytest.MonkeyPatch, found: LookUp) -> None:
    """The look-up finds this, and no schedule matches."""
    monkeypatch.setattr(inspect, "look_up", lambda *_, **__: found)


@pytest.mark.browser
def test_the_box_leads_to_a_task_without_a_list_between(open_page: Open, world: World) -> None:
    page = open_page("")
    page.keyboard.press("/")
    page.keyboard.type("task-2")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ops/tasks/task-2/?pool=default")
    page.locator("#find").fill("demo")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ops/find/?q=demo")
    expect(page.locator("#find")).to_have_value("demo")
    page.keyboard.press("j")


def test_what_is_in_no_name_is_one_click_from_the_search_in_arguments(
    world: World, operator: Client, viewer: Client
) -> None:
    address = "/ops/tasks/?contains=ORD-42"
    assert f'href="{address}"' in operator.get("/ops/find/", {"q": "ORD-42"}).content.decode()
    assert "contains=" not in viewer.get("/ops/find/", {"q": "ORD-42"}).content.decode()
    page = operator.get("/ops/tasks/").content.decode()
    assert "<code>text:" in page
    assert "<code>text:" not in viewer.get("/ops/tasks/").content.decode()
