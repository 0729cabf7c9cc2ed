"""Backfill: the runs of a past range are shown, and created once, however often it is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect
from queueops.errors import BadOption, UnknownSchedule
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.schedules.conftest import Clock

pytestmark = pytest.mark.django_db
SINCE, UNTIL = "2026-01-10T00:00", "2026-01-12T23:00"
FIRST = int(datetime(2026, 1, 10, tzinfo=UTC).timestamp() * 1000)
DAY = 86_400_000


def test_each_tick_of_the_range_runs_once_however_often_it_is_filled(clock: Clock) -> None:
    clock.define("s", "0 3 * * *")
    assert control.backfill_schedule("s", FIRST, FIRST + DAY) == (1, 0)
    assert control.backfill_schedule("s", FIRST, FIRST + 3 * DAY, who="ada") == (2, 1)
    assert control.backfill_schedule("s", FIRST, FIRST + 3 * DAY) == (0, 3)
    assert clock.runs() == [f"s@2026-01-{day}T03:00:00Z" for day in (10, 11, 12)]
    assert clock.of().due_ms is not None
    assert len(clock.claim(10)) == 3
    with pytest.raises(UnknownSchedule):
        control.backfill_schedule("none", FIRST, FIRST)


def test_a_range_is_in_the_past_and_has_a_bounded_number_of_runs(clock: Clock) -> None:
    clock.define("s", "* * * * *")
    now = clock.now()
    for since, until, words in (
        (now, now + DAY, "must be in the past"),
        (now - DAY, now - 2 * DAY, "must be before the end"),
        (now - DAY, now - 60_000, "at most 1,000 runs, which is up to"),
    ):
        with pytest.raises(BadOption, match=words):
            control.backfill_schedule("s", since, until)
    assert clock.runs() == []
    plan = inspect.backfill("0 3 * * *", "UTC", FIRST, FIRST + 12 * DAY)
    assert (plan.count, len(plan.first), len(plan.last)) == (12, 5, 5)
    assert plan.last[-1] == FIRST + 11 * DAY + 3 * 3_600_000


def test_the_command_line_shows_the_runs_and_creates_them_in_the_zone_of_the_schedule(clock: Clock) -> None:
    clock.define("s", "0 3 * * *", zone="Asia/Tokyo")
    given = ("schedule", "s", "backfill", "--since", SINCE, "--until", UNTIL, "--yes")
    assert queue(*given) == "3 runs of s were created; 0 existed already.\n"
    assert queue_json(*given) == {"id": "s", "pool": clock.pool, "created": 0, "existed": 3}
    assert clock.runs()[0] == "s@2026-01-09T18:00:00Z"
    for wrong in (("--since", "x", "--until", UNTIL), ("--since", "0001-01-01", "--until", UNTIL), ()):
        assert failing("schedule", "s", "backfill", *wrong, "--yes")[0] == 2
    assert AuditEntry.objects.filter(verb="backfill_schedule").count() == 2


def test_the_page_shows_the_runs_before_it_creates_them(clock: Clock) -> None:
    clock.define("s", "0 3 * * *")
    clients = {}
    for group in ("viewers", "operators"):
        user = User.objects.create(username=group)
        user.groups.set(Group.objects.filter(name=group))
        clients[group] = Client()
        clients[group].force_login(user)
    asked = {"since": SINCE, "until": UNTIL}
    page = clients["operators"].get("/ops/schedules/s/backfill/", asked).content.decode()
    assert "Create 3 runs" in page
    assert "2026-01-12 03:00:00" in page
    assert "Create 3 runs" not in clients["viewers"].get("/ops/schedules/s/backfill/", asked).content.decode()
    assert clients["viewers"].post("/ops/schedules/s/_backfill", asked).status_code == 403
    wrong = clients["operators"].post("/ops/schedules/s/_backfill", asked | {"until": "\x00"})
    assert (wrong.status_code, "must be a time such as" in wrong.content.decode()) == (422, True)
    assert clock.runs() == []
    for told in ("3 runs were created, 0 existed", "0 runs were created, 3 existed"):
        answer = clients["operators"].post("/ops/schedules/s/_backfill", asked, follow=True)
        assert told in answer.content.decode()
    entry = AuditEntry.objects.filter(verb="backfill_schedule").latest("pk")
    assert entry.after["since"] == SINCE
    assert len(clock.runs()) == 3
