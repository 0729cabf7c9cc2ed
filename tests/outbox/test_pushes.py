"""Pushes by rows of the outbox: written with the transaction, sent after it, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from queueops import chain, conf, group, jobs, task_named, workflow
from queueops.checks import check_settings
from queueops.contrib.outbox.database_outbox import DatabaseOutbox
from queueops.contrib.outbox.models import OutboxRow
from queueops.errors import BadOption
from queueops.errors.outbox import OutboxNotInstalled
from queueops.redis.broker import get_broker
from queueops.signals import task_pushed
from queueops.tasks import outbox
from queueops.testing import eager, run_worker
from tests.support import tasks_for_tests as tasks
from tests.support.for_each import for_each
from tests.support.tasks_for_tests import Letters, Sum

pytestmark = pytest.mark.django_db(transaction=True)


@workflow(name="outbox.doubles")
async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


WAYS: dict[str, Callable[[], Any]] = {
    "push": lambda: tasks.add.push(1),
    "with an id": lambda: tasks.add.using(id="mine", lane="slow", meta={"a": 1}).push(1),
    "postpone": lambda: tasks.add.postpone(60, 1),
    "push_many": lambda: tasks.add.push_many([(1,), (2,)])[1],
    "on_commit": lambda: tasks.add.push_on_commit(1),
    "by name": lambda: task_named("far.away").push(1),
    "chain": lambda: chain(tasks.add.s(1), tasks.add.s(2)).push(),
    "group": lambda: group(tasks.add.s(1), chain(tasks.add.s(1), tasks.add.s())).push_on_commit(),
    "class": lambda: Letters.push("a"),
    "template": lambda: Sum.push(1, 2, 3),
    "job": lambda: jobs.submit(aggregation="shop", limit=10, handler="resize", url="https://example.com/a", id="j"),
    "jobs": lambda: jobs.submit_many([{"aggregation": "shop", "handler": "resize"}] * 2)[1],
    "run": lambda: double.start(1),
    "instance": lambda: double.using(id="seven").start(7),
    "instance on_commit": lambda: double.using(id="eight", on_conflict="ignore").start_on_commit(8),
}


@for_each("way", WAYS)
def test_a_push_of_each_form_is_a_row_until_the_commit_and_in_the_store_after_it(app: Any, way: str) -> None:
    with transaction.atomic():
        handle = WAYS[way]()
        assert OutboxRow.objects.filter(pool="default", dead=False).exists(), way
        assert handle.status() is None, way
    assert not OutboxRow.objects.exists(), way
    assert handle.state in ("pending", "postponed", "waiting", "idle", "suspended"), way


@for_each("way", WAYS)
def test_a_push_of_each_form_that_is_rolled_back_is_in_neither(app: Any, way: str, redis_client: Any) -> None:
    redis_client.flushall()
    with transaction.atomic():
        handle = WAYS[way]()
        transaction.set_rollback(True)
    assert not OutboxRow.objects.exists(), way
    assert handle.status() is None, way


def test_each_form_that_a_crash_left_behind_is_sent_by_the_next_relay(app: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    handles = {}
    for way, push in WAYS.items():
        with transaction.atomic():
            handles[way] = push()
    assert {way for way, handle in handles.items() if handle.status()} == set()
    rows = list(OutboxRow.objects.order_by("pk"))
    assert app.relay() == len(rows)
    states = {way: handle.state for way, handle in handles.items()}
    assert None not in states.values(), states
    uids = {way: handle.status().uid for way, handle in handles.items() if hasattr(handle.status(), "uid")}
    OutboxRow.objects.bulk_create(rows)  # the relay was killed before it deleted them
    assert app.relay() == len(rows)
    assert not OutboxRow.objects.exists()
    assert {way: handle.state for way, handle in handles.items()} == states
    assert uids == {way: handle.status().uid for way, handle in handles.items() if hasattr(handle.status(), "uid")}


def test_outside_a_transaction_a_push_is_sent_at_once_unless_it_asks_for_a_row(app: Any, monkeypatch: Any) -> None:
    assert tasks.add.push(1).state == "pending"
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    assert tasks.add.push(1).state == "pending"
    handle = tasks.add.using(outbox=True).push(1)
    named = chain(tasks.add.s(1)).using(outbox="default").push()
    assert (handle.status(), named.status()) == (None, None)
    assert app.relay() == 2
    assert handle.state == "pending"


def test_a_push_to_another_store_is_no_row_which_a_relay_would_send_to_the_own_one(
    app: Any, settings: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": {"eu": {"NAMESPACE": f"{get_broker().settings.namespace}-eu"}}}
    with conf.in_store("eu"):
        handle = tasks.add.using(outbox=True).push(1)
        with transaction.atomic():
            second = tasks.add.push(1)
        assert (handle.state, second.state) == ("pending", "pending")
    assert not OutboxRow.objects.exists()
    assert handle.status() is None


def test_a_rollback_to_a_savepoint_takes_its_rows_and_leaves_the_others(app: Any) -> None:
    with transaction.atomic():
        kept = tasks.add.push(1)
        with transaction.atomic():
            lost = tasks.add.push(2)
            transaction.set_rollback(True)
        last = tasks.add.push(3)
    assert (kept.state, lost.state, last.state) == ("pending", None, "pending")


def test_delay_and_expiry_count_from_the_push_and_not_from_the_relay(app: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    with transaction.atomic():
        late = tasks.add.using(delay=60, expires=90, keep=1).push(1)
    OutboxRow.objects.update(created=timezone.now() - timedelta(seconds=40))
    app.relay()
    record = get_broker().record("default", late.id)
    assert record is not None
    assert record.due - record.created <= 20_000
    assert int(record.expires.removeprefix("+")) <= 50_000
    assert record.keep == 3_600_000


def test_the_delay_of_a_composite_counts_from_the_push_too(app: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    with transaction.atomic():
        late = chain(tasks.add.s(1), tasks.add.s(2)).using(delay=60).push()
    OutboxRow.objects.update(created=timezone.now() - timedelta(seconds=40))
    app.relay()
    record = get_broker().record("default", late.id)
    assert record is not None
    assert record.due - record.created <= 20_000


def test_a_part_joins_the_task_of_its_id_and_receivers_are_told_of_each_push(app: Any, monkeypatch: Any) -> None:
    told: list[str] = []
    receiver = lambda task, handle, **_: told.append(handle.id)  # noqa: E731
    task_pushed.connect(receiver)
    try:
        busy = tasks.add.using(id="busy").push(1)
        with transaction.atomic():
            whole = group(tasks.add.using(id="busy", on_conflict="ignore").s(1), tasks.add.s(2)).push()
            two = tasks.add.push_many([(3,), (4,)])
            assert told == [busy.id]
        run_worker()
    finally:
        task_pushed.disconnect(receiver)
    assert whole.result(timeout=0) == [2, 3]
    assert told == [busy.id, whole.id, *(handle.id for handle in two)]


def test_an_eager_push_needs_no_table(app: Any) -> None:
    with eager():
        with transaction.atomic():
            handle = tasks.add.push(1)
            assert (handle.status(), OutboxRow.objects.exists()) == (None, False)
        assert handle.result() == 2


def test_a_push_that_cannot_be_kept_is_refused_where_it_is_made(app: Any, monkeypatch: Any) -> None:
    with pytest.raises(BadOption, match=r"outbox is 'elsewhere'.*a name of DATABASES: default"):
        tasks.add.using(outbox="elsewhere")
    monkeypatch.setattr(outbox, "_installed", None)
    assert [found.id for found in check_settings()] == ["queueops.E010"]
    with transaction.atomic(), pytest.raises(OutboxNotInstalled, match="add it to INSTALLED_APPS"):
        tasks.add.push(1)


def test_a_relay_tells_of_each_push_and_lets_a_part_join_the_task_that_has_its_id(app: Any) -> None:
    told: list[str] = []

    def receiver(handle: Any, **_: Any) -> None:
        told.append(handle.id)

    tasks.add.using(id="taken").postpone(3600, 1)
    task_pushed.connect(receiver)
    try:
        with transaction.atomic():
            plain = [tasks.add.push(1), *tasks.add.push_many([(1,), (2,)])]
            others = [group(tasks.add.using(id="taken").s(2)).push(), double.using(id="nine").start(9), WAYS["job"]()]
            assert told == []
    finally:
        task_pushed.disconnect(receiver)
    assert sorted(told) == sorted(handle.id for handle in (*plain, *others))
    assert others[0].state == "idle"
