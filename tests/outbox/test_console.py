"""The console's page of the outbox: rows, errors, and the actions on them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.models import AuditEntry
from queueops.contrib.outbox.database_outbox import DatabaseOutbox
from queueops.contrib.outbox.models import OutboxRow
from queueops.redis.broker import get_broker
from tests.support import tasks_for_tests as tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_the_page_shows_what_waits_and_what_was_given_up_and_acts_on_it(
    admin: Client, app: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    for name in ("<b>one", "two", "three"):
        tasks.add.using(outbox=True, tags=["a"]).push(1)
        OutboxRow.objects.filter(name=tasks.add.name).update(name=name)
    page = admin.get("/ops/outbox/").content.decode()
    assert "waiting <b>3</b>" in page
    assert "&lt;b&gt;one" in page
    assert 'aria-sort="ascending">Written' in page  # the oldest first
    assert 'href="/ops/outbox/" aria-current="page"' in page or "/ops/outbox/" in page
    OutboxRow.objects.update(form="letters")
    app.relay()
    dead = admin.get("/ops/outbox/?dead=1").content.decode()
    assert "no registered kind has the form" in dead
    first, second, third = OutboxRow.objects.order_by("pk").values_list("pk", flat=True)
    admin.post("/ops/outbox/_retry", {"task": f"default {first}"})
    assert OutboxRow.objects.filter(dead=False).get().pk == first
    question = admin.post("/ops/outbox/_drop", {"task": f"default {second}"})
    assert "its task never runs" in question.content.decode()
    assert OutboxRow.objects.count() == 3
    confirmed = {"task": f"default {second}", "confirmed": "1", "typed": "1", "reason": "old"}
    admin.post("/ops/outbox/_drop", confirmed)
    assert not OutboxRow.objects.filter(pk=second).exists()
    admin.post("/ops/outbox/_drop", confirmed | {"task": "default 0"})
    entries = AuditEntry.objects.filter(verb__endswith="_outbox").order_by("pk")
    assert [(entry.verb, entry.outcome, entry.changed) for entry in entries] == [
        ("retry_outbox", "done", 1), ("drop_outbox", "done", 1), ("drop_outbox", "refused", 0)
    ]  # fmt: skip
    assert OutboxRow.objects.filter(pk=third, dead=True).exists()


def test_an_alarm_of_the_outbox_is_of_the_own_store_alone(
    admin: Client, app: Any, settings: Any, monkeypatch: Any
) -> None:
    other = {"NAMESPACE": f"{get_broker().settings.namespace}-eu"}
    settings.QUEUEOPS, settings.ROOT_URLCONF = (
        {**settings.QUEUEOPS, "STORES": {"eu": other}},
        "tests.console.store_urls",
    )
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    tasks.add.using(outbox=True).push(1)
    OutboxRow.objects.update(dead=True)
    for store, is_told in (("", True), ("@eu/", False)):
        page = admin.get(f"/ops/{store}")
        assert (page.status_code, "of the outbox was given up" in page.content.decode()) == (200, is_told)


def test_wrong_addresses_and_forms_get_an_answer(admin: Client, app: Any) -> None:
    assert "no outbox in the database &#x27;x&#x27;" in admin.get("/ops/outbox/?database=x").content.decode()
    for query in ("after=-1", "after=" + "9" * 40, "after=%00", "dead=7", "database=%00"):
        assert admin.get(f"/ops/outbox/_rows?{query}").status_code == 200, query
    for task in ("default x", "default " + "9" * 30, "nowhere 1", "default"):
        assert admin.post("/ops/outbox/_retry", {"task": task}).status_code in (302, 400), task


def test_without_the_app_the_page_says_so_and_no_link_leads_there(admin: Client, namespace: str) -> None:
    page = admin.get("/ops/outbox/").content.decode()
    assert "The project has no outbox" in page
    assert 'href="/ops/outbox/"' not in admin.get("/ops/lanes/").content.decode()
