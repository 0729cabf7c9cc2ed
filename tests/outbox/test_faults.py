"""Faults around the outbox: a database that is down, another version, ids that are used again, and very many rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.test import Client

from queueops import inspect
from queueops.contrib.outbox import database_outbox, relay, relaying
from queueops.contrib.outbox.database_outbox import DatabaseOutbox
from queueops.contrib.outbox.models import OutboxRow
from queueops.contrib.outbox.turns import turn_of
from queueops.errors.outbox import NoOutbox
from queueops.errors.refusals import LibraryRefused
from queueops.redis.broker import get_broker
from queueops.redis.durability import DURABLE_S, Confirmation
from queueops.redis.store_client import HASTE_S
from queueops.signals import task_pushed
from tests.outbox.conftest import BOX, box
from tests.support import tasks_for_tests as tasks

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


def test_a_database_that_is_down_does_not_stop_the_rows_of_the_others(
    app: Any, client: Client, tmp_path: Path, monkeypatch: Any, django_db_blocker: Any
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    handle = tasks.add.using(outbox="default").push(1)
    connections.databases["down"] = connections.databases["default"] | {"NAME": str(tmp_path / "no" / "directory")}
    try:
        with django_db_blocker.unblock():
            sent, outage = relaying.relay_all()
            page = client.get("/ops/outbox/").content.decode()
    finally:
        del connections.databases["down"]
    assert (sent, handle.state) == (1, "pending")
    assert "unable to open database file" in str(outage)
    assert "A database cannot be read: unable to open" in page


def test_a_push_in_a_transaction_of_a_database_without_the_tables_says_so(
    app: Any, tmp_path: Path, django_db_blocker: Any
) -> None:
    connections.databases["legacy"] = connections.databases["default"] | {"NAME": str(tmp_path / "legacy")}
    try:
        with (
            django_db_blocker.unblock(),
            pytest.raises(NoOutbox, match="no outbox in the database 'legacy'; it is in default"),
            transaction.atomic(using="legacy"),
        ):
            tasks.add.push(1)
    finally:
        connections["legacy"].close()
        del connections["legacy"]
        del connections.databases["legacy"]


def test_rows_wait_while_the_store_refuses_the_library_of_this_version(app: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    handle = tasks.add.using(outbox=True).push(1)
    refusal = LibraryRefused(reason="newer", place="", advice="Update")

    class Refusing:
        def push(self, *_: Any, **__: Any) -> None:
            raise refusal

    turn = relay.take_turn(Refusing(), "default", "default", "default")  # type: ignore[arg-type]
    assert turn.outage is refusal
    assert OutboxRow.objects.filter(dead=False).count() == 1
    assert (app.relay(), handle.state) == (1, "pending")


def test_a_refused_row_takes_no_signal_from_those_that_are_sent_with_it(app: Any) -> None:
    told: list[str] = []
    receiver = lambda handle, **_: told.append(handle.id)  # noqa: E731
    tasks.add.using(id="taken").push(1)
    task_pushed.connect(receiver)
    try:
        with transaction.atomic():
            first = tasks.add.push(1)
            tasks.add.using(id="taken", on_conflict="reject").push(1)
            last = tasks.add.push(1)
    finally:
        task_pushed.disconnect(receiver)
    assert told == [first.id, last.id]
    assert OutboxRow.objects.get().error.startswith("The store refused it")


def test_a_commit_sends_all_its_rows_and_an_id_that_this_process_has_sent_before(app: Any, monkeypatch: Any) -> None:
    with transaction.atomic():
        handles = tasks.add.push_many([(number,) for number in range(2 * relay.BATCH + 1)])
    assert not OutboxRow.objects.exists()
    assert handles[-1].state == "pending"
    with monkeypatch.context() as left, transaction.atomic():  # another process has left two rows
        left.setattr(DatabaseOutbox, "_committed", lambda *_: None)
        tasks.add.using(id="first").push(1)
        tasks.add.using(id="mine").push(1)
    with transaction.atomic():
        tasks.add.using(id="first").push(2)
    with transaction.atomic():
        tasks.add.using(id="mine", on_conflict="replace").push(3)
    assert not OutboxRow.objects.exists()


def test_a_durable_push_waits_for_the_file_longer_than_a_page_for_a_reply(namespace: str) -> None:
    confirmation = Confirmation(get_broker().hasty(), "default")
    assert confirmation._line.socket_timeout > DURABLE_S > HASTE_S
    confirmation.close()


def test_a_commit_sends_the_rows_that_were_left_before_its_own_but_no_long_backlog(app: Any, monkeypatch: Any) -> None:
    def leave() -> Any:
        with monkeypatch.context() as left, transaction.atomic():  # another process had the turn
            left.setattr(DatabaseOutbox, "_committed", lambda *_: None)
            handle = tasks.add.push(1)
            app._mine.kept.clear()  # this one does not know its id
            return handle

    first = leave()
    with transaction.atomic():
        second = tasks.add.push(2)
    assert not OutboxRow.objects.exists()
    uids = [get_broker().record("default", handle.id).uid for handle in (first, second)]  # type: ignore[union-attr]
    assert int(uids[0]) + 1 == int(uids[1])
    monkeypatch.setattr(relay.take_turn, "__kwdefaults__", {"batch": 2})
    left = [leave(), leave()]
    with transaction.atomic():
        last = tasks.add.push(3)
    assert [handle.status() for handle in (*left, last)] == [None] * 3
    assert app.relay() == 3


def test_a_turn_reads_and_sends_rows_up_to_a_number_of_characters_and_at_least_one(app: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    handles = [tasks.fail.using(outbox=True).push("x" * size) for size in (1000, 1000, 1000, 9000, 10)]
    monkeypatch.setattr(relay, "MOST_TEXT", round(2.5 * len(OutboxRow.objects.order_by("id")[0].body)))
    read = []
    monkeypatch.setattr(
        relay, "_send", lambda broker, rows, send=relay._send: read.append(len(rows)) or send(broker, rows)
    )
    turns = [relay.take_turn(get_broker(), "default", "default", "default") for _ in range(5)]
    assert read == [2, 1, 1, 1, 0]
    assert [turn.more for turn in turns] == [True, True, True, False, False]
    assert [id for turn in turns for id in turn.sent] == [handle.id for handle in handles]


@pytest.mark.skipif(connections["default"].vendor != "sqlite", reason="other databases lock a row")
def test_a_process_that_was_forked_in_a_turn_does_not_keep_it(app: Any) -> None:
    reading, writing = os.pipe()
    with turn_of("default", "default", "default"):
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the test ends
            os._exit(0)
    try:
        with turn_of("default", "default", "default") as is_free:
            assert is_free
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


def test_very_many_rows_are_counted_up_to_a_number_and_changed_step_by_step(
    app: Any, client: Client, monkeypatch: Any
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    monkeypatch.setattr(database_outbox, "STEP", 2)
    tasks.add.using(outbox=True).push(1)
    row = OutboxRow.objects.get()
    copies = [{"id": None, **values} for values in OutboxRow.objects.values(*COPIED)]
    OutboxRow.objects.bulk_create([OutboxRow(**copies[0], dead=number < 5) for number in range(10_004)])
    row.delete()
    (figures,) = inspect.outbox_figures()
    assert (figures.waiting, figures.dead, figures.waiting_words) == (9_999, 5, "9,999")
    assert len(app.act("retry", "default", None)) == 5
    (figures,) = inspect.outbox_figures()
    assert (figures.waiting, figures.waiting_words) == (10_000, "10,000 or more")
    assert "<b>10k+</b>" in client.get("/ops/outbox/").content.decode()


COPIED = ("form", "pool", "lane", "push_id", "name", "body", "created")


def test_a_receiver_whose_query_fails_takes_no_turn_back(
    app: Any, tmp_path: Path, monkeypatch: Any, django_db_blocker: Any
) -> None:
    """PostgreSQL refuses every query of a transaction after an error."""
    told: list[str] = []

    def receiver(handle: Any, **_: Any) -> None:
        told.append(handle.id)
        with connections[BOX].cursor() as cursor:
            cursor.execute("SELECT nothing FROM nowhere")

    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    with django_db_blocker.unblock(), box("postgresql", tmp_path):
        handles = [tasks.add.using(outbox=BOX).push(number) for number in range(3)]
        task_pushed.connect(receiver)
        try:
            relay.take_turn(get_broker(), BOX, "default", "default")
        finally:
            task_pushed.disconnect(receiver)
        left = OutboxRow.objects.using(BOX).count()
    assert told == [handle.id for handle in handles]
    assert left == 0


def test_an_async_push_is_a_row_of_the_transaction_around_it(app: Any, settings: Any, monkeypatch: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "now"}
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    with transaction.atomic():
        handle = async_to_sync(tasks.add.using(outbox=True).apush)(1)
        assert OutboxRow.objects.get().push_id == handle.id
        transaction.set_rollback(True)
    assert (OutboxRow.objects.count(), app.relay(), handle.status()) == (0, 0, None)
