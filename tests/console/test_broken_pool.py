"""Another program wrote to one key of one pool: every page and every question names it, and shows all else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from console.models import AuditEntry
from queueops import inspect
from queueops.model.contracts import Outcome, Push
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.schedules.definition import ScheduleDefinition
from tests.kernel.desk import Desk
from tests.support.monitoring import commands_of
from tests.support.specimens import Shelf
from tests.support.terminal import ask

pytestmark = pytest.mark.django_db
WATCHED = [
    *("agenda", "clock", "counts", "errors", "idle", "lanes", "lanes:ready", "names", "schedules", "seq", "tags"),
    *("trashed", "workers", "commands", "commands_locked", "commands:dead", "lane:default", "lane:default#conf"),
    *(f"state:{state}" for state in (State.PENDING, State.LOCKED, State.FAILED, State.QUARANTINED, "aggregating")),
    "metrics",
]
"""The overview names these."""
ELSEWHERE = [
    "snapshot sampler schedules:queued worker:w1",
    "error:f1 error:f1#tasks name:add tag:red lane:default#active",
    "task:s#log task:s#open task:s#children",
    "task:s",
]
PAGES = (
    *("", "_overview", "tasks/", "tasks/_rows", "tasks/?pool=sick", "tasks/?pool=sick&state=pending", "tasks/?id=s"),
    *("tasks/?name=add&tag=red", "errors/", "errors/f1/", "lanes/", "workers/", "schedules/", "commands/?place=dead"),
)
TABS = ("", "attempts/", "timeline/", "log/", "why/", "raw/")
ALL_PAGES = (*PAGES, *(f"tasks/s/{tab}?pool=sick" for tab in TABS))
QUESTIONS = (
    ["status"],
    ["commands"],
    ["list"],
    ["list", "--pool", "sick"],
    ["errors"],
    ["workers"],
    ["schedules"],
    ["why", "s"],
)


@pytest.fixture
def sick(namespace: str) -> Desk:
    """A pool with something of everything, beside one that is well."""
    desk = Desk(get_broker(), "sick")
    desk.broker.push([Push(id="well", name="add", pool="default")])
    desk.push("f", name="add", tags="red")
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1, fingerprint="f1", title="ValueError: bad")
    desk.push("s", name="add", tags="red")
    desk.broker.beat("sick", "w1", {"names": "add", "slots": 1, "pools": "sick"})
    made = ScheduleDefinition(id="hourly", push=Push(id="", name="add", pool="sick"), line="0 * * * *", zone="UTC")
    desk.broker.put_schedule("sick", made, desk.now() + 10_000_000)
    return desk


def main_of(page: str) -> str:
    """The page without its frame: the status head names each broken key."""
    return page[page.index("<main") :]


def spoil(desk: Desk, name: str) -> str:
    """Another type than it should be, under the key."""
    minute = desk.now() // 60_000
    names = [f"metrics:{minute + ahead}" for ahead in (0, 1)] if name == "metrics" else [name]
    for each in names:
        key = f"{desk.keys.prefix}:{each}"
        desk.client.delete(key)
        desk.client.geoadd(key, (1, 1, "x")) if name in ("snapshot", "sampler", "seq") else desk.client.set(key, "x")
    return f"{desk.keys.prefix}:{name}"


def test_a_key_of_another_type_takes_no_page_and_no_question_down(
    sick: Desk, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked is what reads the key where all is well. All pages have the same head, which the overview is asked for."""
    calls: dict[str, Callable[[], object]] = {page: partial(administrator.get, f"/ops/{page}") for page in ALL_PAGES}
    with monkeypatch.context() as traced:
        traced.setattr("console.ui.render.STATUS_AGE_S", float("inf"))
        asked = commands_of(sick, calls | {" ".join(words): partial(ask, *words) for words in QUESTIONS})
    shelf, offences = Shelf(sick.client), []
    for name in (*WATCHED, *ELSEWHERE):
        shelf.put_back()
        keys = [spoil(sick, each) for each in name.split()]
        readers = [what for what, commands in asked.items() if any(key in commands for key in keys)]
        offences += [f"{name}: {said}" for said in offences_of(name, keys[0], {"", "tasks/", *readers}, administrator)]
    assert offences == []
    sick.client.flushall()


def offences_of(name: str, key: str, readers: set[str], administrator: Client) -> Iterator[str]:
    """What is wrong with the answers of these pages and questions."""
    for page in readers.intersection(ALL_PAGES):
        answer = administrator.get(f"/ops/{page}")
        gone = name in ("task:s", "state:pending") and page.startswith("tasks/s/")
        if answer.status_code not in ((200, 404) if gone else (200,)):
            yield f"/ops/{page} is answered by {answer.status_code}"
        if page == "tasks/" and "well" not in answer.content.decode():
            yield "/ops/tasks/ does not show the rest"
        if page == "" and name in WATCHED and f"Pool sick is broken: {key}" not in answer.content.decode():
            yield "the overview does not name it"
    for words in (words for words in QUESTIONS if " ".join(words) in readers):
        if not all(ask(*words, *as_json) for as_json in ([], ["--json"])):
            yield f"manage.py queue {' '.join(words)} says nothing"


@pytest.mark.parametrize("name", WATCHED)
def test_the_status_names_the_key_and_counts_what_is_well(sick: Desk, name: str) -> None:
    key = spoil(sick, name)
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("queue", "status", "--json", stdout=out)
    found = json.loads(out.getvalue())
    (broken,) = found["broken"]
    assert broken["pool"] == "sick"
    assert broken["keys"][0].startswith(key)
    assert [pool["states"]["pending"] for pool in found["pools"] if pool["name"] == "default"] == [1]
    assert any(alarm["level"] == "danger" and key in alarm["text"] for alarm in found["alarms"])
    sick.client.flushall()


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("tasks/", "state:pending"),
        ("tasks/s/?pool=sick", "agenda"),
        ("errors/", "errors"),
        ("lanes/", "lanes"),
        ("workers/", "workers"),
        ("schedules/", "schedules"),
        ("commands/", "commands"),
    ],
)
def test_the_page_that_needs_the_key_names_it(sick: Desk, administrator: Client, page: str, name: str) -> None:
    key = spoil(sick, name)
    shown = main_of(administrator.get(f"/ops/{page}").content.decode())
    assert f"Pool sick is broken: {key} is a string, not a zset" in shown
    sick.client.delete(key)
    assert "is broken" not in main_of(administrator.get(f"/ops/{page}").content.decode())
    sick.client.flushall()


def test_garbage_in_a_snapshot_is_counted_anew(sick: Desk) -> None:
    for garbage in (b"", b"{", b"[1]", b'{"taken": "x"}', b'{"taken": 9e15}', b"\xff", b'{"taken": null}'):
        sick.client.set(sick.keys.snapshot, garbage)
        found = inspect.snapshot()
        assert found.computed
        assert found.states["pending"] == 2


def test_an_action_on_a_broken_pool_is_answered_with_the_key(sick: Desk, administrator: Client) -> None:
    key = spoil(sick, "agenda")
    administrator.post("/ops/tasks/s/_postpone", {"pool": "sick", "delay": "60"})
    assert f"{key} is a string, not a zset" in AuditEntry.objects.get().detail
    assert "is a string, not a zset" in administrator.get("/ops/tasks/").content.decode()
    assert sick.state("s") == "pending"
    with pytest.raises(CommandError, match=r"agenda is a string, not a zset"):
        call_command("queue", "postpone", "s", "--delay", "60", "--yes", "--pool", "sick", stdout=StringIO())
    sick.client.flushall()
