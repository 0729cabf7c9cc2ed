"""Django's own tasks, enqueued within a database transaction."""

from __future__ import annotations

import unittest
from importlib import import_module

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import TestCase

from queueops.contrib.django_library import library
from queueops.errors import BadArguments, BadOption
from queueops.model import warn_once
from queueops.testing import eager, run_worker

pytestmark = pytest.mark.django_db(transaction=True)
BACKEND = "queueops.contrib.django_tasks.QueueOpsBackend"


@pytest.fixture
def tasks(namespace, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}
    warn_once.forget()
    yield import_module("tests.support.django_tasks_for_tests")
    warn_once.forget()


def is_stored(result):
    try:
        return bool(library().task_backends["default"].get_result(result.id))
    except library("exceptions").TaskResultDoesNotExist:
        return False


def is_stored_in_transaction(tasks):
    with transaction.atomic():
        result = tasks.add.enqueue(1)
        before = is_stored(result)
    assert is_stored(result)
    return before


def test_a_task_waits_for_the_commit_and_its_result_is_ready(tasks):
    with transaction.atomic():
        result = tasks.add.enqueue(1, b=2)
        assert (result.status, result.args, result.kwargs, result.enqueued_at) == ("READY", [1], {"b": 2}, None)
        assert not is_stored(result)
        assert run_worker() == 0
    assert result.enqueued_at == tasks.add.get_result(result.id).enqueued_at
    assert run_worker() == 1
    result.refresh()
    assert result.return_value == 3


def test_after_a_rollback_nothing_is_enqueued(tasks):
    with transaction.atomic():
        result = tasks.add.enqueue(1)
        transaction.set_rollback(True)
    assert not is_stored(result)


def test_the_signal_is_sent_after_the_push(tasks):
    sent = []

    def receive(task_result, **more):
        sent.append(is_stored(task_result))

    library("signals").task_enqueued.connect(receive)
    try:
        with transaction.atomic():
            tasks.add.enqueue(1)
            assert sent == []
    finally:
        library("signals").task_enqueued.disconnect(receive)
    assert sent == [True]


def test_wrong_arguments_are_refused_before_the_commit(tasks):
    with transaction.atomic():
        with pytest.raises(BadArguments):
            tasks.add.enqueue()
        with pytest.raises(TypeError):
            tasks.add.enqueue(object())


def test_async_code_waits_for_the_transaction_around_it(tasks):
    async def enqueue():
        return await tasks.add.aenqueue(1)

    with transaction.atomic():
        result = async_to_sync(enqueue)()
        assert not is_stored(result)
    assert is_stored(result)


@pytest.mark.parametrize(
    ("option", "setting", "waits"),
    [
        (None, None, True),
        (None, "on_commit", True),
        (None, "now", False),
        (None, "warn", False),
        ("on_commit", "now", True),
        ("now", "on_commit", False),
        ("now", None, False),
    ],
)
def test_the_option_counts_before_the_setting(tasks, settings, option, setting, waits):
    options = {"transactions": option} if option else {}
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}
    settings.QUEUEOPS = settings.QUEUEOPS | ({"TRANSACTIONS": setting} if setting else {})
    assert is_stored_in_transaction(tasks) is not waits


def test_an_option_that_is_wrong_says_what_it_may_be(tasks, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": {"transactions": "commit"}}}
    with pytest.raises(BadOption, match=r"transactions.*'commit'.*one of .*on_commit"):
        tasks.add.enqueue(1)
    (message,) = tasks.add.get_backend().check()
    assert message.id == "queueops.E021"


def test_a_warning_names_the_place_and_says_what_to_write(tasks, settings, caplog):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": {"transactions": "warn"}}}
    enqueue = lambda: tasks.add.enqueue(1)  # noqa: E731 - the line is known
    enqueue()
    assert not caplog.records
    with transaction.atomic():
        enqueue()
        enqueue()
    (told,) = (record.getMessage() for record in caplog.records if record.name == "queueops.push")
    assert told == (
        f"{__file__}:{enqueue.__code__.co_firstlineno} pushes tests.support.django_tasks_for_tests.add within a"
        " transaction of the database 'default'. A worker may run it before the commit, or although there is none."
        ' Set "transactions" in the OPTIONS of its backend to "on_commit".'
    )


def test_the_transaction_of_a_test_case_does_not_count(tasks):
    class Enqueues(TestCase):
        """A test of a project."""

        def test_enqueue(self):
            assert is_stored(tasks.add.enqueue(1))
            with transaction.atomic():
                result = tasks.add.enqueue(1)
            assert not is_stored(result)
            with self.captureOnCommitCallbacks(execute=True), transaction.atomic():
                result = tasks.add.enqueue(1)
            assert is_stored(result)

    found = unittest.defaultTestLoader.loadTestsFromTestCase(Enqueues).run(unittest.TestResult())
    assert found is not None
    assert (found.testsRun, found.errors, found.failures) == (1, [], [])


def test_an_eager_task_waits_too(tasks):
    with eager():
        with transaction.atomic():
            result = tasks.add.enqueue(1)
            assert not is_stored(result)
        result.refresh()
    assert (result.status, result.return_value) == ("SUCCESSFUL", 2)
