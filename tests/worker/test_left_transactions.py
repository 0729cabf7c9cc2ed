"""A task that leaves a database transaction open harms no later task of its thread: SQLite, PostgreSQL, MariaDB."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from queueops import MapReduce, activity, task, wf, workflow
from queueops.model.contracts import Outcome
from queueops.signals import task_succeeded
from queueops.tasks.context import Context
from queueops.worker.execution import db_connections
from tests.support import mysql, postgresql
from tests.support.rig import Rig
from tests.worker.test_loop import Running

DATABASE = "trial"
kept: list[Any] = []


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mysql"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The settings of a database of its own."""
    if request.param == "sqlite":
        yield {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path_factory.mktemp("database") / "db.sqlite3"}
    else:
        with {"postgresql": postgresql, "mysql": mysql}[request.param].server() as found:
            yield found


@pytest.fixture(params=[0, 600], ids=["closed after each task", "kept"])
def database(
    request: pytest.FixtureRequest, address: dict[str, Any], monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any
) -> Iterator[None]:
    """The database behind the alias, with an empty table."""
    made = connections.configure_settings({DEFAULT_DB_ALIAS: {**address, "CONN_MAX_AGE": request.param}})
    monkeypatch.setitem(connections.settings, DATABASE, made[DEFAULT_DB_ALIAS])
    with django_db_blocker.unblock():
        run_sql("DROP TABLE IF EXISTS kept_rows", "CREATE TABLE kept_rows (name text)")
        yield
        kept.clear()  # a generator ends its block here, on the connection of this thread
        connections[DATABASE].close()
        del connections[DATABASE]


@pytest.fixture
def rig(database: None, make_rig: Callable[[int], Rig]) -> Rig:
    """One thread, whose connections are closed before the database is taken away."""
    return make_rig(1)


def run_sql(*lines: str) -> None:
    with connections[DATABASE].cursor() as cursor:
        for line in lines:
            cursor.execute(line)


def rows() -> set[str]:
    with connections[DATABASE].cursor() as cursor:
        cursor.execute("SELECT name FROM kept_rows")
        found = {name for (name,) in cursor.fetchall()}
    connections[DATABASE].close()
    return found


def enter_block() -> None:
    stack = ExitStack()
    stack.enter_context(transaction.atomic(using=DATABASE))
    kept.append(stack)
    run_sql("INSERT INTO kept_rows VALUES ('lost')")


def enter_blocks() -> None:
    enter_block()
    enter_block()


def keep_generator() -> None:
    def within() -> Iterator[None]:
        with transaction.atomic(using=DATABASE):
            run_sql("INSERT INTO kept_rows VALUES ('lost')")
            yield

    kept.append(within())
    next(kept[-1])


def begin_by_hand() -> None:
    run_sql("BEGIN", "INSERT INTO kept_rows VALUES ('lost')")


def turn_autocommit_off() -> None:
    connections[DATABASE].set_autocommit(False)
    run_sql("INSERT INTO kept_rows VALUES ('lost')")


def close_within_block() -> None:
    enter_block()
    connections[DATABASE].close()


def break_within_block() -> None:
    enter_block()
    run_sql("SELECT nothing FROM nowhere")


WAYS = [
    enter_block, enter_blocks, keep_generator, begin_by_hand, turn_autocommit_off, close_within_block,
    break_within_block,
]  # fmt: skip


def sync_task(way: Callable[[], None]) -> Callable[[Context], Any]:
    return lambda context: way()


def failing_task(way: Callable[[], None]) -> Callable[[Context], Any]:
    def run(context: Context) -> None:
        way()
        raise ValueError

    return run


def async_task(way: Callable[[], None]) -> Callable[[Context], Any]:
    async def run(context: Context) -> None:
        await sync_to_async(way)()

    return run


def task_with_threads(way: Callable[[], None]) -> Callable[[Context], Any]:
    async def run(context: Context) -> None:
        await asyncio.to_thread(way)

    return run


def add_row(context: Context) -> None:
    with transaction.atomic(using=DATABASE):
        run_sql(f"INSERT INTO kept_rows VALUES ('{context.id}')")


async def add_row_async(context: Context) -> None:
    await sync_to_async(add_row)(context)


async def add_row_in_threads(context: Context) -> None:
    await sync_to_async(add_row, thread_sensitive=False)(context)


FORMS = [
    *[(sync_task, add_row, way) for way in WAYS],
    *[(failing_task, add_row, way) for way in (enter_block, keep_generator)],
    *[(async_task, add_row_async, way) for way in (enter_block, begin_by_hand)],
    *[(task_with_threads, add_row_in_threads, way) for way in (enter_block, begin_by_hand)],
]


@pytest.mark.parametrize(("form", "later", "way"), FORMS)
def test_later_tasks_of_the_thread_succeed_and_their_rows_are_kept(
    rig: Rig, caplog: pytest.LogCaptureFixture, form: Any, later: Any, way: Callable[[], None]
) -> None:
    rig.submit(rig.task(form(way)))
    rig.submit(rig.task(later), 3)
    first, *others = rig.ends(4)
    assert [end.outcome for end in others] == [Outcome.SUCCESS] * 3, [end.title for end in others]
    assert rows() == {end.id for end in others}
    told = [record.getMessage() for record in caplog.records if "transaction" in record.getMessage()]
    assert told == [f"task0 {first.id} left a transaction open in the database 'trial'. It was rolled back."]


def test_a_task_that_ends_its_transaction_keeps_its_connection(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    seen = []

    def look(context: Context) -> None:
        add_row(context)
        seen.append(connections[DATABASE].connection)

    rig.submit(rig.task(look), 3)
    rig.ends(3)
    is_kept = connections.settings[DATABASE]["CONN_MAX_AGE"] > 0
    assert len({id(each) for each in seen}) == (1 if is_kept else 3)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_receiver_of_a_signal_that_leaves_a_transaction_open_harms_no_task(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    def receive(**_: Any) -> None:
        if not kept:
            enter_block()

    task_succeeded.connect(receive)
    try:
        rig.submit(rig.task(add_row), 3)
        ends = rig.ends(3)
    finally:
        task_succeeded.disconnect(receive)
    assert rows() == {end.id for end in ends}
    assert "left a transaction open" in caplog.text


@pytest.mark.parametrize("address", ["mysql"], indirect=True)
@pytest.mark.parametrize("database", [600], indirect=True, ids=["kept"])
def test_mysql_tells_of_a_transaction_that_its_driver_does_not_know(database: None) -> None:
    connection = connections[DATABASE]
    run_sql("SELECT 1")
    assert not db_connections._keeps_savepoint(connection)
    run_sql("BEGIN")
    assert db_connections._keeps_savepoint(connection)
    connection.rollback()
    assert not db_connections._keeps_savepoint(connection)


@pytest.mark.parametrize("address", ["mysql"], indirect=True)
@pytest.mark.parametrize("database", [600], indirect=True, ids=["kept"])
def test_mysqlclient_is_asked_once_for_each_task_and_again_after_a_query_between_two(
    rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db_connections, "_STATUS", "mysqlclient has none")

    def asked() -> int:
        with connections[DATABASE].cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_savepoint'")
            return int(cursor.fetchone()[1])

    before = asked()
    rig.submit(rig.task(add_row), 5)
    assert len(rig.ends(5)) == 5
    assert asked() - before == 5
    task_succeeded.connect(receive := lambda **_: begin_by_hand())
    try:
        rig.submit(rig.task(add_row))
        rig.ends(6)
    finally:
        task_succeeded.disconnect(receive)
    rig.submit(rig.task(add_row), 2)
    assert {end.id for end in rig.ends(8)} == rows()
    assert "left a transaction open" in caplog.text


@pytest.mark.parametrize("database", [600], indirect=True, ids=["kept"])
def test_without_autocommit_too_no_task_is_part_of_the_transaction_of_an_earlier_one(
    rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections.settings[DATABASE], "AUTOCOMMIT", False)

    def commit(context: Context) -> None:
        run_sql(f"INSERT INTO kept_rows VALUES ('{context.id}')")
        connections[DATABASE].commit()

    def leave(context: Context) -> None:
        run_sql("INSERT INTO kept_rows VALUES ('lost')")

    def break_it(context: Context) -> None:
        run_sql("SELECT nothing FROM nowhere")

    rig.submit(rig.task(leave))
    rig.submit(rig.task(commit))
    rig.submit(rig.task(break_it))
    rig.submit(rig.task(commit))
    _, second, _, fourth = rig.ends(4)
    assert [second.outcome, fourth.outcome] == [Outcome.SUCCESS] * 2
    assert rows() == {second.id, fourth.id}
    told = [record.levelno for record in caplog.records if "left a transaction open" in record.getMessage()]
    assert set(told) == {logging.INFO}


@task
def generate(where: str) -> Iterator[int]:
    """Leave a transaction open between two steps."""
    yield 1
    begin_by_hand()
    yield 2


class Leaves(MapReduce):
    """Leave a transaction open at one of the stages."""

    def map(self, where: str) -> Iterator[str]:
        """One chunk."""
        leave_at("map", where)
        yield where

    def process(self, chunk: str) -> str:
        """Give the chunk back."""
        leave_at("process", chunk)
        return chunk

    def reduce(self, results: Any) -> None:
        """Do nothing more."""
        leave_at("reduce", *results)


def leave_at(place: str, where: str) -> None:
    if place == where:
        begin_by_hand()


@activity
def leaves(where: str) -> None:
    """An activity."""
    begin_by_hand()


@workflow
async def calls(where: str) -> None:
    """Call the activity."""
    await wf.call(leaves, where)


@task
def innocent(name: str) -> None:
    """Keep a row."""
    run_sql(f"INSERT INTO kept_rows VALUES ('{name}')")


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
@pytest.mark.parametrize("database", [600], indirect=True, ids=["kept"])
def test_generators_stages_of_a_map_reduce_and_activities_leave_no_transaction_either(
    database: None, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    pushed = [generate.push("here"), *map(Leaves.push, ("map", "process", "reduce"))]
    run = calls.start("here")
    worker = Running(threads=1)
    try:
        for each in (run, *pushed):
            each.result(timeout=60)
        rest = innocent.push_many([(name,) for name in "abc"])
        for each in rest:
            each.result(timeout=60)
    finally:
        worker.end()
    assert rows() == {"a", "b", "c"}
    told = [record.getMessage().split()[0] for record in caplog.records if "left a transaction" in record.getMessage()]
    assert sorted(told) == sorted([generate.name, *[Leaves.name] * 3, leaves.name])
