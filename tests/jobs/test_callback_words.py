"""Callbacks in messages: an action on them is told with their own noun and verb, in the console and in a terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.core.management import CommandError, call_command
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect, jobs
from tests.console.conftest import administrator, client_of, operator  # noqa: F401  fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]

DEAD = "/ops/callbacks/?show=discarded"


def discarded(number: int) -> list[str]:
    """So many callbacks that an operator has discarded."""
    given = {"aggregation": "a", "handler": "work", "callback_url": "http://a.example/done"}
    made = [job.id for job in jobs.submit_many([given] * number)]
    control.cancel(made)
    found = [row.followed_by[0].id for id in made if (row := inspect.task(id))]
    control.discard_callbacks(found)
    return found


def told(client: Client, path: str, **form: Any) -> str:
    """The message after a click."""
    reply = client.post(path, form)
    assert reply.status_code == 302
    return [str(each) for each in get_messages(reply.wsgi_request)][-1]


def test_an_action_on_ticked_callbacks_is_told_with_their_words(administrator: Client) -> None:  # noqa: F811
    one, *others = discarded(3)
    shown = administrator.get(f"/ops/tasks/{one}/").content.decode()
    assert '<a href="/ops/callbacks/" data-go="b" aria-current="page">' in shown
    assert told(administrator, f"/ops/tasks/{one}/_retry", pool="default") == "Redeliver: 1 callback. Now pending."
    ticked = [f"default {id}" for id in others]
    assert told(administrator, "/ops/tasks/_retry", task=ticked, next=DEAD) == "Redeliver: 2 callbacks. Now pending."
    assert AuditEntry.objects.latest("pk").target == "2 callbacks"
    control.discard_callbacks(others)
    assert told(administrator, "/ops/tasks/_delete", task=ticked, next=DEAD).startswith("Discard: 2 callbacks.")
    undo = AuditEntry.objects.latest("pk").pk
    assert told(administrator, f"/ops/audit/{undo}/_undo").startswith("Undone: 2 callbacks.")


def test_ticked_tasks_of_other_records_are_tasks(operator: Client) -> None:  # noqa: F811
    (callback,) = discarded(1)
    ticked = [f"default {each.id}" for each in inspect.tasks(inspect.TaskQuery(state="cancelled")).rows]
    assert f"default {callback}" in ticked
    assert len(ticked) == 2
    assert told(operator, "/ops/tasks/_retry", task=ticked, next=DEAD).startswith("Retry: 2 tasks.")


def test_the_question_before_a_redirect_names_callbacks(operator: Client) -> None:  # noqa: F811
    ticked = [f"default {id}" for id in discarded(2)]
    form: dict[str, Any] = {"task": ticked, "url": "http://b.example/done"}
    asked = operator.post("/ops/callbacks/_redirect", form).content.decode()
    assert "Redirect: 2 callbacks</h1>" in asked
    assert "Redirect 2 callbacks</button>" in asked
    assert told(operator, "/ops/callbacks/_redirect", **form, confirmed="2").startswith("Redirect: 2 callbacks.")


def test_an_action_on_all_that_match_is_told_with_their_words(operator: Client) -> None:  # noqa: F811
    discarded(2)
    url = "/ops/tasks/_all_retry?state=cancelled&kind=callback"
    asked = operator.post(url).content.decode()
    assert "Redeliver all 2 callbacks</h1>" in asked
    assert "Only what matches now is changed." in asked
    assert told(operator, url, confirmed="2").startswith("Redeliver: 2 callbacks.")
    assert told(operator, url, confirmed="2") == "Nothing matches the filter."


def test_a_terminal_asks_about_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    discarded(2)
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    with pytest.raises(CommandError):
        call_command("queue", "retry", "--kind", "callback", "--state", "cancelled")
    assert "Retry 2 callbacks? [y/N] " in asked[0]
    out = StringIO()
    call_command("queue", "retry", "--kind", "callback", "--state", "failed", "--yes", stdout=out)
    assert "No callback matches." in out.getvalue()
