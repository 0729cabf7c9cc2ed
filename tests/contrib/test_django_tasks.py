"""Django's own tasks on QueueOps."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from queueops import Retry
from queueops.contrib import django_library
from queueops.contrib.django_library import invalid_task, library, load
from queueops.contrib.django_task_kind import KIND
from queueops.errors import BadArguments, BadOption, UnknownOption
from queueops.model.contracts import Push
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.testing import run_worker

BACKEND = "queueops.contrib.django_tasks.QueueOpsBackend"


@pytest.fixture
def tasks(namespace, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["default", "mail"]}}
    return import_module("tests.support.django_tasks_for_tests")


@pytest.mark.parametrize("name", ["add", "add_later"])
def test_a_task_is_enqueued_run_and_refreshed(tasks, name):
    result = getattr(tasks, name).enqueue(1, b=2)
    assert (result.status, result.args, result.kwargs, result.attempts) == ("READY", [1], {"b": 2}, 0)
    assert run_worker() == 1
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", 3, 1)
    assert result.enqueued_at <= result.started_at <= result.finished_at


def test_a_failure_is_one_attempt_with_its_traceback(tasks):
    result = tasks.fail.enqueue()
    run_worker()
    result.refresh()
    assert (result.status, result.attempts) == ("FAILED", 1)
    assert result.errors[0].exception_class is KeyError
    assert 'raise KeyError("missing")' in result.errors[0].traceback
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_a_queue_is_a_pool_and_priorities_are_the_same(tasks):
    record = get_broker().record("mail", tasks.fail.enqueue().id)
    assert (record.pool, record.priority, record.name) == ("mail", 7, "tests.support.django_tasks_for_tests.fail")


def test_the_context_is_given(tasks):
    result = tasks.which.enqueue()
    run_worker()
    result.refresh()
    assert result.return_value == [1, result.id]


def test_deferred_tasks_wait(tasks):
    result = tasks.add.using(run_after=timezone.now() + dt.timedelta(hours=1)).enqueue(1)
    handle = TaskHandle(result.id)
    assert handle.state is State.POSTPONED
    assert handle.run_now()
    run_worker()
    result.refresh()
    assert result.return_value == 2


def test_a_cancelled_task_counts_as_failed(tasks):
    result = tasks.add.enqueue(1)
    TaskHandle(result.id).cancel("not needed")
    result.refresh()
    assert (result.status, result.errors[0].traceback) == ("FAILED", "not needed")


def test_results_are_found_by_id_and_only_they(tasks):
    exceptions = library("exceptions")
    result = tasks.add.enqueue(1)
    assert tasks.add.get_result(result.id).id == result.id
    assert asyncio.run(tasks.add.aget_result(result.id)).id == result.id
    with pytest.raises(exceptions.TaskResultMismatch):
        tasks.fail.get_result(result.id)
    with pytest.raises(exceptions.TaskResultDoesNotExist):
        tasks.add.get_result("nothing")


def test_async_code_enqueues(tasks):
    result = asyncio.run(tasks.add.aenqueue(1))
    assert TaskHandle(result.id).state is State.PENDING


def test_wrong_arguments_are_refused_at_once(tasks):
    for args, kwargs in [((), {}), ((1,), {"c": 1})]:
        with pytest.raises(BadArguments):
            tasks.add.enqueue(*args, **kwargs)
    with pytest.raises(TypeError):
        tasks.add.enqueue(object())


def test_options_apply_to_all_tasks_of_the_backend(tasks, settings):
    options = {"retries": 3, "timeout": 2, "retry": Retry(delay=7), "tags": ["a"], "lane": "slow", "keep": 60}
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": options}}
    record = get_broker().record("default", tasks.add.enqueue(1).id)
    assert (record.retries, record.timeout, record.tags, record.lane, record.keep) == (3, 2000, ("a",), "slow", 60_000)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"retrys": 3}, UnknownOption, "has no option 'retrys'. Write retries=3."),
        ({"id": "always-the-same"}, UnknownOption, "The backend 'default' of TASKS has no option 'id'"),
        ({"pool": "mail"}, UnknownOption, "'pool'"),
        ({"retries": "3"}, BadOption, "a whole number"),
        ({"retry": 5}, BadOption, "Retry(delay=60)"),
        (["retries"], BadOption, "TASKS['default']['OPTIONS']"),
    ],
)
def test_options_that_are_wrong_are_told_by_the_check_and_by_each_enqueue(tasks, settings, options, error, text):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": options}}
    (message,) = tasks.add.get_backend().check()
    assert (message.id, message.obj) == ("queueops.E021", "TASKS['default']['OPTIONS']")
    assert text in message.msg
    assert message.hint == "The options are durable, keep, lane, retries, retry, tags, timeout, transactions."
    task = tasks.add.using(priority=1)  # a module that defines tasks can be imported
    with pytest.raises(error, match=re.escape(text)):
        task.enqueue(1)


def test_each_option_that_is_wrong_is_told_by_the_check(tasks, settings):
    options = {"retrys": 3, "keep": 60, "retries": "3", "retry": 5}
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": options}}
    messages = list(tasks.add.get_backend().check())
    assert [message.id for message in messages] == ["queueops.E021"] * 3
    for message, text in zip(messages, ("'retrys'", "a whole number", "Retry(delay=60)"), strict=True):
        assert text in message.msg
    with pytest.raises(UnknownOption, match="'retrys'"):
        tasks.add.enqueue(1)


def test_the_settings_may_hold_a_retry():
    code = (
        "from django.conf import settings; from queueops import Retry; import django;"
        f"settings.configure(INSTALLED_APPS=['queueops'], TASKS={{'default': {{'BACKEND': {BACKEND!r},"
        "'OPTIONS': {'retries': 2, 'retry': Retry(delay=5)}}});"
        "django.setup(); from queueops.contrib.django_library import library;"
        "print(list(library().task_backends['default'].check()))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("queue", ["my queue", "", "x" * 101, "a,b"])
def test_a_queue_that_cannot_be_a_pool_is_refused_where_it_is_named(tasks, settings, queue):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}
    invalid = type(invalid_task(""))
    with pytest.raises(
        invalid, match=re.escape(f"The queue {queue!r} cannot be the name of a pool. A queue is a pool")
    ):
        tasks.add.using(queue_name=queue)
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["default", queue]}}
    (message,) = tasks.add.get_backend().check()
    assert (message.id, message.msg) == ("queueops.E022", f"The queue {queue!r} cannot be the name of a pool.")


@pytest.fixture
def frameworks(tmp_path, monkeypatch):
    """Task frameworks that are not the one that is there."""
    old = "class TaskResultStatus:\n    SUCCEEDED = 'SUCCEEDED'\n"
    for name, base in {"without_base_for_tests": None, "old_for_tests": old}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        if base is not None:
            (tmp_path / name / "base.py").write_text(base)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("no_such_package", "Django 5.2 has no task framework: pip install"),
        ("without_base_for_tests", "The installed django-tasks is too old for QueueOps"),
        ("old_for_tests", "The installed django-tasks is too old for QueueOps"),
    ],
)
def test_a_framework_that_is_missing_or_too_old_is_told(frameworks, monkeypatch, package, text):
    monkeypatch.setattr(django_library, "PACKAGES", (package,))
    with pytest.raises(ImproperlyConfigured, match=re.escape(text)):
        library.__wrapped__("base")


def test_settings_that_are_right_have_no_complaints(tasks):
    assert list(tasks.add.get_backend().check()) == []


def test_a_project_without_the_app_is_told(tasks, settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "queueops"]
    (message,) = tasks.add.get_backend().check()
    assert message.id == "queueops.E020"


@pytest.fixture
def second_backend(settings):
    settings.TASKS = {
        "default": {"BACKEND": BACKEND, "QUEUES": ["default"]},
        "bulk": {"BACKEND": BACKEND, "QUEUES": ["bulk"], "OPTIONS": {"tags": ["bulk"]}},
    }
    return library().task_backends["bulk"]


def test_a_second_backend_with_queues_of_its_own_works(tasks, second_backend):
    result = tasks.describe.using(backend="bulk", queue_name="bulk").enqueue()
    assert get_broker().record("bulk", result.id).tags == ("bulk",)
    run_worker()
    result.refresh()
    assert (result.status, result.return_value["backend"], result.return_value["queue"]) == (
        "SUCCESSFUL",
        "bulk",
        "bulk",
    )
    for backend in (second_backend, tasks.describe.get_backend()):
        found = backend.get_result(result.id)
        assert (found.backend, found.task) == ("bulk", result.task)


def test_a_task_of_a_backend_that_is_no_more_in_the_settings_is_run_and_found(tasks, settings, second_backend):
    result = tasks.describe.using(backend="bulk", queue_name="bulk").enqueue()
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["default"]}}
    run_worker()
    found = tasks.describe.get_result(result.id)
    assert (found.status, found.backend, found.return_value["backend"]) == ("SUCCESSFUL", "default", "default")


def test_only_tasks_of_modules_that_are_imported_already_are_found(tasks):
    assert load("os.system") is None
    assert load("no.such.module") is None
    assert load("nothing") is None
    assert load("tests.support.django_tasks_for_tests.add") is tasks.add


def test_a_module_that_answers_for_names_by_importing_others_is_not_asked(tasks, monkeypatch):
    module = ModuleType("lazy_for_tests")
    module.__getattr__ = lambda name: tasks.add  # PEP 562
    monkeypatch.setitem(sys.modules, "lazy_for_tests", module)
    assert load("lazy_for_tests.add") is None


@pytest.fixture
def foreign_module(tmp_path, monkeypatch):
    """A module that could be imported, and that ends the process which does."""
    (tmp_path / "foreign_for_tests.py").write_text("import sys\nsys.exit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "foreign_for_tests"


def test_a_record_makes_no_worker_import_a_module(namespace, foreign_module):
    push = Push(id="x", name=f"{foreign_module}.work", kind=KIND, pool="default")
    get_broker().push([push])
    run_worker()
    record = get_broker().record("default", "x")
    assert foreign_module not in sys.modules
    assert record.state == State.POSTPONED
    assert record.reason == (
        "no task of this worker is named 'foreign_for_tests.work' (kind 'django_task'); "
        "a worker imports the module tasks of each installed app, and what that imports"
    )


def test_a_result_makes_no_process_import_a_module(tasks, foreign_module):
    get_broker().push([Push(id="x", name=f"{foreign_module}.work", kind=KIND, pool="default")])
    with pytest.raises(library("exceptions").TaskResultDoesNotExist):
        tasks.add.get_backend().get_result("x")
    assert foreign_module not in sys.modules
