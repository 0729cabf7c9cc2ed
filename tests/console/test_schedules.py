"""The pages of schedules on the real engine."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry, Outcome
from queueops import Schedule, inspect, schedules
from queueops.redis.broker import get_broker
from queueops.redis.schedule_keys import log_key, schedule_key
from tests.schedules.conftest import FAR, Clock
from tests.schedules.jobs import report

pytestmark = pytest.mark.django_db
FORM = {
    "task": "tests.report",
    "id": "weekly",
    "line": FAR,
    "zone": "Europe/Berlin",
    "jitter": "2.5",
    "catch_up": "all:5",
    "overlap": "queue",
    "args": '["monday"]',
    "kwargs": '{"password": "hunter2"}',
}


@pytest.fixture
def clock(namespace: str) -> Clock:
    """Schedules, and the passing of their time."""
    return Clock(get_broker())


def text(client: Client, path: str, status: int = 200) -> str:
    """A page."""
    answer = client.get(f"/ops/schedules/{path}")
    assert answer.status_code == status
    return answer.content.decode()


def test_a_schedule_is_made_in_a_form(clock: Clock, administrator: Client) -> None:
    assert "No schedule yet" in text(administrator, "")
    answer = administrator.post("/ops/schedules/_create", FORM)
    assert answer.headers["Location"] == "/ops/schedules/weekly/"
    made = inspect.schedule("weekly")
    assert made is not None
    assert (made.task, made.line, made.zone, made.source) == ("tests.report", FAR, "Europe/Berlin", "console")
    assert (made.jitter_ms, made.catch_up, made.overlap) == (2500, "all:5", "queue")
    page = text(administrator, "weekly/")
    assert "monday" in page
    assert "hunter2" not in page
    assert "hunter2" not in str(AuditEntry.objects.get().after)
    assert "weekly" in text(administrator, "")


def test_a_schedule_of_any_name_has_its_page(clock: Clock, administrator: Client) -> None:
    for name in ("new", "edit", "_rows", "a/edit"):
        schedules.create(report, Schedule(FAR, args=["x"]), id=name)
        address = str(administrator.get("/ops/schedules/").content.decode())
        path = re.search(rf"/ops/schedules/({name.replace('/', '~')}/)\?", address)
        assert path is not None
        assert f"<h1>{name}</h1>" in text(administrator, path[1])


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("task", "tests.repport", "did you mean"),
        ("id", "a b", "is not a valid id of a schedule"),
        ("line", "0 0 30 2 *", "is not valid"),
        ("line", "@every 0s", "from 1 second"),
        ("zone", "Mars/Olympus", "Select a valid choice"),
        ("jitter", "-1", "greater than or equal to 0"),
        ("args", "[]", "cannot be called"),
        ("args", "{", "This is not JSON"),
        ("kwargs", '{"password": "[redacted]"}', "with its value"),
        ("overlap", "?", "Select a valid choice"),
    ],
)
def test_what_makes_no_sense_is_told_at_its_field(
    name: str, value: str, told: str, clock: Clock, administrator: Client
) -> None:
    answer = administrator.post("/ops/schedules/_create", FORM | {name: value})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert re.findall(r'id="wrong-(\w+)"', page) == [name]
    assert told in page
    assert schedules.list() == []
    assert not AuditEntry.objects.exists()


def test_an_id_that_is_in_use_is_refused(clock: Clock, administrator: Client) -> None:
    clock.define("weekly")
    answer = administrator.post("/ops/schedules/_create", FORM)
    assert answer.status_code == 422
    assert "A schedule" in answer.content.decode()


def test_a_line_is_tried(clock: Clock, administrator: Client) -> None:
    page = text(administrator, "_new?line=0+3+*+*+*&zone=Europe/Berlin")
    assert len(re.findall(r"03:00:00 CES?T", page)) == 5
    assert "is not valid" in text(administrator, "_new?line=now&zone=UTC")
    assert "There is no time zone" in text(administrator, "_new?line=@daily&zone=Mars")


def test_a_schedule_is_edited(clock: Clock, administrator: Client) -> None:
    administrator.post("/ops/schedules/_create", FORM | {"kwargs": "{}"})
    page = text(administrator, "weekly/edit/")
    assert "monday" in page
    version = re.search(r'name="version" value="(\d+)"', page)
    assert version is not None
    form = FORM | {"kwargs": "{}", "line": "@every 1h", "version": version[1]}
    assert administrator.post("/ops/schedules/weekly/_edit", form).status_code == 302
    made = inspect.schedule("weekly")
    assert made is not None
    assert made.line == "@every 1h"
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.before["line"], entry.after["line"]) == (FAR, "@every 1h")
    assert "@every 1h" in administrator.get(f"/ops/audit/{entry.pk}/").content.decode()
    late = administrator.post("/ops/schedules/weekly/_edit", form | {"line": "@every 2h"})  # of an older version
    assert late.status_code == 422
    assert "Another user or process has changed the schedule" in late.content.decode()
    assert "@every 2h" in late.content.decode()
    made = inspect.schedule("weekly")
    assert made is not None
    assert made.line == "@every 1h"


def test_a_pause_is_taken_back(clock: Clock, administrator: Client) -> None:
    clock.define()
    administrator.post("/ops/schedules/s/_pause")
    assert "paused by administrators" in text(administrator, "s/")
    entry = AuditEntry.objects.get()
    assert entry.after == entry.before | {"paused": True}
    administrator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert inspect.schedules()[0].condition == "active"


def test_a_schedule_is_run_by_hand(clock: Clock, operator: Client) -> None:
    schedules.create(report, Schedule(FAR, args=["x"]), id="s")
    assert operator.post("/ops/schedules/s/_run").status_code == 302
    (run,) = clock.runs()
    page = text(operator, "s/")
    assert "run by hand by operators" in page
    assert f'href="/ops/tasks/{run}/' in page
    assert operator.post("/ops/schedules/s/_pause").status_code == 403


def test_a_deletion_asks_first(clock: Clock, administrator: Client) -> None:
    clock.define()
    asked = administrator.post("/ops/schedules/s/_delete")
    assert asked.status_code == 200
    assert "Deletes the schedule with its history" in asked.content.decode()
    assert len(inspect.schedules()) == 1
    form = {"confirmed": "1", "typed": "1", "reason": "not needed"}
    assert administrator.post("/ops/schedules/s/_delete", form).headers["Location"] == "/ops/schedules/"
    assert inspect.schedules() == []
    entry = AuditEntry.objects.get()
    assert (entry.reason, entry.before["id"], entry.after) == ("not needed", "s", {})


def test_what_stands_in_the_code_is_not_changed_here(clock: Clock, administrator: Client) -> None:
    clock.define(source="code")
    page = text(administrator, "s/")
    assert "/_pause" in page
    assert "/_delete" not in page
    assert "/edit/" not in page
    administrator.post("/ops/schedules/s/_delete", {"confirmed": "1", "typed": "1", "reason": "x"})
    assert AuditEntry.objects.get().outcome == Outcome.FAILED
    assert "is declared in code" in text(administrator, "s/")


def test_a_viewer_sees_no_arguments_and_no_buttons(clock: Clock, viewer: Client) -> None:
    schedules.create(report, Schedule(FAR, args=["monday"]), id="s")
    for path in ("", "s/"):
        page = text(viewer, path)
        assert "monday" not in page
        assert not any(f"/_{verb}" in page for verb in ("run", "pause", "delete"))
    assert "_new" not in text(viewer, "")
    text(viewer, "s/edit/", 403)


@pytest.mark.parametrize("value", [b"{", b"\xff", b'{"id":"<b>"}'])
@pytest.mark.parametrize("line", [b"\xff", b'{"at":[],"w":{},"id":3}', b'{"t":1e99,"n":1e300}', b'{"at":1e15}', None])
def test_garbage_is_shown_and_can_be_deleted(
    value: bytes, line: bytes | None, clock: Clock, administrator: Client
) -> None:
    clock.define(ago_ms=0)
    clock.client.hset(schedule_key(clock.keys, "s"), "x", value)
    if line is None:
        clock.client.set(log_key(clock.keys, "s"), "?")
    else:
        clock.client.rpush(log_key(clock.keys, "s"), line)
    assert "cannot be read" in text(administrator, "")
    page = text(administrator, "s/")
    assert "broken" in page
    assert "/_delete" in page
    assert "/_run" not in page


def test_a_tick_that_nobody_fires_is_told(clock: Clock, viewer: Client) -> None:
    clock.define(ago_ms=20_000)
    assert "Start a watchdog" in text(viewer, "")


def test_nothing_new_is_not_sent_again(clock: Clock, viewer: Client) -> None:
    clock.define()
    for path, live in (("", "schedules/_rows"), ("s/", "schedules/s/_live")):
        found = re.search(rf'hx-get="(/ops/{live}[^"]*)"', text(viewer, path))
        assert found is not None
        address = found[1].replace("&amp;", "&")
        assert viewer.get(address).status_code == 204
    clock.came(ago_ms=-5_000_000)
    assert viewer.get(address).status_code == 200


def test_no_such_schedule(clock: Clock, administrator: Client) -> None:
    text(administrator, "nothing/", 404)
    posted: Any = administrator.post("/ops/schedules/nothing/_pause")
    assert posted.status_code == 404


def test_a_line_is_tried_and_what_was_written_stays(clock: Clock, administrator: Client) -> None:
    unfinished = FORM | {"preview": "1", "args": "[", "task": "tests.rep", "line": "30 2 * * *"}
    page = administrator.post("/ops/schedules/_create", unfinished)
    shown = page.content.decode()
    assert page.status_code == 200
    assert len(re.findall(r'class="moment"', shown)) == 5
    assert 'value="tests.rep"' in shown
    assert "is not JSON" not in shown
    wrong = administrator.post("/ops/schedules/_create", unfinished | {"line": "now"}).content.decode()
    assert wrong.count('role="alert"') == 1
    assert inspect.schedules() == []
    assert not AuditEntry.objects.exists()


def test_an_edit_is_tried_before_it_is_saved(clock: Clock, administrator: Client) -> None:
    schedules.create(report, Schedule(FAR, args=["x"]), id="weekly")
    made = inspect.schedule("weekly")
    assert made is not None
    sent = FORM | {"preview": "1", "line": "15 4 * * *", "version": made.version, "pool": "default"}
    shown = administrator.post("/ops/schedules/weekly/_edit", sent).content.decode()
    assert len(re.findall(r'class="moment"', shown)) == 5
    assert f'name="version" value="{made.version}"' in shown
    assert inspect.schedule("weekly") == made


def test_a_schedule_that_is_not_as_in_the_code_says_so(clock: Clock, viewer: Client) -> None:
    schedules.create(report, Schedule(FAR, args=["x"]), id="weekly")
    definition = clock.broker.schedule("default", "weekly").definition
    definition.push.name = "tests.of_nobody"
    clock.broker.put_schedule("default", definition, None, seen=inspect.schedule("weekly").version, who="x")
    assert "differs from the code" in text(viewer, "")
    assert "The code of this console has no task tests.of_nobody." in text(viewer, "weekly/")
