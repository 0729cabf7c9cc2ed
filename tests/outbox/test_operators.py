"""Rows that wait or were given up: what operators see of them, and what they do."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from console.models import AuditEntry
from queueops import chain, control, inspect
from queueops.contrib.outbox.database_outbox import DatabaseOutbox
from queueops.contrib.outbox.models import OutboxRow
from queueops.errors import FilterError
from queueops.testing import run_worker
from tests.support import tasks_for_tests as tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bad(app: DatabaseOutbox, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Five rows of one lane: rubbish, an unknown form, a refused id, a refused chain, and one that is right."""
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    tasks.add.using(id="taken").push(1)
    chain(tasks.add.s(1)).using(id="chained").push()
    with transaction.atomic():
        tasks.add.push(1)
        tasks.add.push(1)
        tasks.add.using(id="taken", on_conflict="reject").push(1)
        chain(tasks.add.s(1)).using(id="chained", on_conflict="reject").push()
        tasks.add.using(id="right").push(1)
    rows = list(OutboxRow.objects.order_by("pk"))
    rows[0].body, rows[1].form = '{"push": \x01 rubbish', "letters"
    for row in rows[:2]:
        row.save()
    return [row.pk for row in rows]


def told(*words: str) -> str:
    stream = io.StringIO()
    call_command("queue", *words, stdout=stream)
    return stream.getvalue()


def test_bad_rows_are_given_up_with_their_errors_and_do_not_stop_their_lane(bad: list[int], app: Any) -> None:
    assert app.relay() == 1
    page = inspect.outbox(dead=True)
    assert [row.id for row in page.rows] == bad[:4]
    unreadable, unknown, *refused = (row.error for row in page.rows)
    assert unreadable.startswith(f"The row {bad[0]} of the outbox cannot be read: ")
    assert "no registered kind has the form 'letters'" in unknown
    assert all("exists, and on_conflict is" in error for error in refused)
    assert (page.databases[0].waiting, page.databases[0].dead) == (0, 4)
    run_worker()
    assert app.relay() == 0, "they are not tried again by themselves"


def test_an_operator_retries_and_deletes_rows_in_a_terminal(bad: list[int], app: Any) -> None:
    app.relay()
    assert "0 wait, 4 were given up." in told("outbox", "--dead", "--limit", "2")
    assert f"--after {bad[1]}" in told("outbox", "--dead", "--limit", "2")
    assert json.loads(told("outbox", "--dead", "--after", str(bad[2]), "--json"))["rows"][0]["id"] == bad[3]
    run_worker()
    assert "1 row of the database default wait again." in told("retry-outbox", str(bad[2]))
    assert app.relay() == 1
    assert "1 row of the database default were deleted." in told("drop-outbox", str(bad[0]), "--yes")
    with pytest.raises(CommandError, match="1 row of these had not been given up"):
        told("drop-outbox", str(bad[0]), "--yes")
    with pytest.raises(CommandError, match="Name rows by their numbers"):
        told("retry-outbox")
    with pytest.raises(CommandError, match="no outbox in the database 'nowhere'"):
        told("outbox", "--database", "nowhere")
    assert "2 rows" in told("retry-outbox", "--all")
    entries = AuditEntry.objects.filter(verb__endswith="_outbox").order_by("pk")
    assert [(entry.verb, entry.changed) for entry in entries] == [
        ("retry_outbox", 1), ("drop_outbox", 1), ("drop_outbox", 0), ("retry_outbox", 2)
    ]  # fmt: skip


def test_fsck_counts_the_rows(bad: list[int], app: Any) -> None:
    app.relay()
    assert "Outbox of the database default: 0 wait, 4 were given up." in told("fsck")
    assert json.loads(told("fsck", "--json"))["outbox"][0]["dead"] == 4


def test_rows_that_wait_for_long_or_were_given_up_are_alarms(bad: list[int], app: Any) -> None:
    keys = lambda: {alarm.key: alarm for alarm in inspect.snapshot().alarms if "outbox" in alarm.key}  # noqa: E731
    assert keys() == {}
    OutboxRow.objects.update(created=timezone.now() - timedelta(minutes=5))
    late = keys()["outbox default"]
    assert late.text.startswith("5 pushes wait in the outbox of the database default, the first for 5 min")
    assert (late.level, late.command, late.url_hint) == ("danger", "manage.py watchdog", "outbox")
    app.relay()
    given_up = keys()
    assert set(given_up) == {"outbox-dead default"}
    assert given_up["outbox-dead default"].text == "4 pushes of the outbox were given up in the database default."


def test_without_the_app_questions_say_what_to_do(namespace: str) -> None:
    assert (inspect.outbox_in_use(), inspect.outbox_figures()) == (False, ())
    with pytest.raises(CommandError, match="add it to INSTALLED_APPS"):
        told("outbox")
    assert not [alarm for alarm in inspect.snapshot().alarms if "outbox" in alarm.key]


def test_more_rows_than_a_call_takes_are_refused(app: Any) -> None:
    with pytest.raises(ValueError, match="501 rows are too many"):
        control.retry_outbox(range(501))
    with pytest.raises(FilterError, match="no outbox in the database 'x'"):
        control.drop_outbox(None, "x")
