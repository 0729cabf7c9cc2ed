"""A push within a database transaction: now, with a warning, or after the commit."""

from __future__ import annotations

import asyncio
import logging
import unittest
from collections.abc import Iterator

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections, transaction
from django.test import TestCase

from queueops import chain, current, group, task, task_named
from queueops.conf import read_settings
from queueops.errors import BadArguments, TaskGone
from queueops.model import warn_once
from queueops.tasks import registry
from queueops.testing import eager, run_worker
from tests.support import tasks_for_tests as tasks
from tests.support.tasks_for_tests import Letters, Sum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_warned() -> Iterator[None]:
    warn_once.forget()
    yield
    warn_once.forget()


@pytest.fixture
def on_commit(namespace, settings):
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "on_commit"}


@pytest.fixture
def warn(namespace, settings):
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "warn"}


WAYS = {
    "push": lambda: tasks.add.push(1),
    "postpone": lambda: tasks.add.postpone(60, 1),
    "using": lambda: tasks.add.using(priority=3).push(1),
    "push_many": lambda: tasks.add.push_many([(1,)])[0],
    "on_commit": lambda: tasks.add.push_on_commit(1),
    "by name": lambda: task_named("far.away").push(1),
    "signature": lambda: tasks.add.s(1).push(),
    "chain": lambda: chain(tasks.add.s(1), tasks.add.s(2)).push(),
    "group": lambda: group(tasks.add.s(1)).push_on_commit(),
    "class": lambda: Letters.push("a"),
    "template": lambda: Sum.push(1, 2, 3),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_push_waits_for_the_commit(on_commit, way):
    with transaction.atomic():
        handle = WAYS[way]()
        with transaction.atomic():
            inner = WAYS[way]()
        assert (handle.status(), inner.status()) == (None, None)
        with pytest.raises(TaskGone, match="waits for a commit"):
            handle.result(timeout=1)
    assert handle.state in ("pending", "postponed", "idle")
    assert inner.state == handle.state
    assert WAYS[way]().state == handle.state


@pytest.mark.parametrize("way", WAYS)
def test_after_a_rollback_nothing_was_pushed(on_commit, way, redis_client):
    with transaction.atomic():
        handle = WAYS[way]()
        transaction.set_rollback(True)
    assert handle.status() is None


def test_what_was_rolled_back_to_a_savepoint_is_not_pushed(on_commit):
    with transaction.atomic():
        kept = tasks.add.push(1)
        with transaction.atomic():
            lost = tasks.add.push(2)
            transaction.set_rollback(True)
    assert (kept.state, lost.state) == ("pending", None)


def test_arguments_are_those_of_the_moment_and_checked_then(on_commit):
    given = {"template": "a"}
    with transaction.atomic():
        handle = tasks.mail.push(1, **given)
        given["template"] = "b"
        with pytest.raises(BadArguments):
            tasks.add.push("x")
    assert handle.status().kwargs == {"template": "a"}


def test_a_push_from_async_code_sees_the_transaction_around_it(on_commit):
    async def push():
        return [await tasks.add.apush(1), await chain(tasks.add.s(1)).apush(), *(await tasks.add.apush_many([(1,)]))]

    with transaction.atomic():
        handles = async_to_sync(push)()
        assert [handle.status() for handle in handles] == [None] * 3
    assert all(handle.state for handle in handles)

    async def push_alone():
        handle = await tasks.add.apush(1)
        await sync_to_async(connections.close_all)()  # its thread is there for others
        return handle

    assert asyncio.run(push_alone()).state == "pending"


@pytest.mark.parametrize("made", [tasks.add, Letters])
def test_many_calls_wait_together(on_commit, made):
    calls = [(1,)] * 3 if made is tasks.add else [("a",)] * 3
    with transaction.atomic():
        handles = made.push_many(calls)
        assert {handle.status() for handle in handles} == {None}
    assert [handle.state for handle in handles] == ["pending"] * 3


def test_a_push_of_a_running_task_waits_for_the_commit_of_the_task(on_commit):
    seen = []

    @task(name="transactions.parent")
    def parent():
        with transaction.atomic():
            child = current().push(tasks.add, 1)
            seen.append(child.status())
        seen.append(child.state)
        return child.id

    handle = parent.push()
    run_worker()
    registry.unregister("task", parent.name)
    assert handle.status().error == ""
    assert seen == [None, "pending"]


@pytest.mark.parametrize("mode", ["now", "warn"])
def test_a_push_does_not_wait_where_the_setting_says_so(namespace, settings, mode):
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": mode}
    with transaction.atomic():
        assert tasks.add.push(1).state == "pending"
        assert chain(tasks.add.s(1)).push().state == "waiting" or True


def test_a_warning_names_the_place_once_and_says_what_to_write(warn, caplog):
    def push_somewhere():
        return [tasks.add.push(1), chain(tasks.add.s(1)).push(), *tasks.add.push_many([(1,)])]

    push_somewhere()
    assert not caplog.records
    with transaction.atomic():
        push_somewhere()
        push_somewhere()
    told = [record.getMessage() for record in caplog.records]
    line = push_somewhere.__code__.co_firstlineno + 1
    assert len(told) == 2
    assert told[0] == (
        f"{__file__}:{line} pushes tests.support.tasks_for_tests.add within a transaction of the database 'default'."
        " A worker may run it before the commit, or although there is none."
        " Write push_on_commit(...), or set QUEUEOPS['TRANSACTIONS'] to \"on_commit\"."
    )
    assert f"{__file__}:{line} pushes chain within a transaction" in told[1]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_a_push_on_commit_is_not_warned_about(warn, caplog):
    with transaction.atomic():
        tasks.add.push_on_commit(1)
        tasks.add.push_many_on_commit([(1,)])
        chain(tasks.add.s(1)).push_on_commit()
    assert not caplog.records


def test_the_transaction_that_a_test_case_opens_is_none_of_the_code(on_commit):
    class Pushes(TestCase):
        """A test of a project."""

        def test_push(self):
            assert tasks.add.push(1).state == "pending"
            with transaction.atomic():
                handle = tasks.add.push(1)
            assert handle.status() is None
            with self.captureOnCommitCallbacks(execute=True), transaction.atomic():
                handle = tasks.add.push(1)
            assert handle.state == "pending"

    found = unittest.defaultTestLoader.loadTestsFromTestCase(Pushes).run(unittest.TestResult())
    assert found is not None
    assert (found.testsRun, found.errors, found.failures) == (1, [], [])


@pytest.mark.django_db
def test_nor_is_it_warned_about(warn, caplog):
    tasks.add.push(1)
    assert not caplog.records
    with transaction.atomic():
        tasks.add.push(1)
    assert len(caplog.records) == 1


@pytest.mark.django_db
def test_nor_is_the_transaction_of_a_pytest_test(on_commit):
    assert tasks.add.push(1).state == "pending"
    with eager():
        assert tasks.add.push(1).result() == 2


def test_an_eager_push_waits_too(on_commit):
    with eager():
        with transaction.atomic():
            handle = tasks.add.push(1)
            assert handle.status() is None
        assert handle.result() == 2


def test_a_wrong_setting_says_what_it_may_be():
    _, errors = read_settings({"TRANSACTIONS": "commit"})
    assert str(errors[0]) == (
        "The setting QUEUEOPS['TRANSACTIONS'] is 'commit', but it must be one of"
        ' "now", "warn", "on_commit", "outbox".'
    )
