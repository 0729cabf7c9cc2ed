"""QUEUEOPS["STORE"]: another store in place of Redis, with the worker and the handles as they are."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.test import Client, override_settings
from django.urls import reverse

from console.models import AuditEntry
from queueops import (
    ResultTimeout,
    TaskCancelled,
    TaskFailed,
    TaskSuperseded,
    chain,
    conf,
    control,
    events,
    get,
    inspect,
)
from queueops.errors import BadOption, BadSetting, BrokerUnavailable
from queueops.errors.kinds import NotOffered
from queueops.errors.refusals import DurabilityUnsupported
from queueops.kinds.jobs.api.problems import problem_of
from queueops.management import doctor
from queueops.metrics.exposition import expose
from queueops.redis.broker import RedisBroker, close_brokers, get_broker
from queueops.testing import namespace, run_worker
from tests.faults.processes import Ledger, Worker
from tests.stores.sqlite_store import SqliteStore
from tests.support import fork_server
from tests.support import tasks_for_tests as tasks

PATH = f"{SqliteStore.__module__}.{SqliteStore.__name__}"


@pytest.fixture
def chosen(tmp_path: Path, settings: Any) -> Iterator[dict[str, Any]]:
    """The settings of the example store, which are those of this process."""
    settings.QUEUEOPS = {
        "STORE": PATH, "URL": str(tmp_path / "tasks.sqlite"), "NAMESPACE": "shop",
        "TASK_MODULES": ["support.tasks_for_tests"],
    }  # fmt: skip
    yield settings.QUEUEOPS
    close_brokers()


def test_the_worker_and_the_handles_run_on_another_store(chosen: dict[str, Any], tmp_path: Path, store: Any) -> None:
    """Pushes, results, failures, cancels and an orderly end, without a word to Redis."""
    sent = [tasks.add.push(1, b=2), tasks.add_later.push(3), tasks.count_to.push(3), tasks.fail_for_good.push()]
    worker = Worker(
        tmp_path / "worker.log", chosen, Ledger(tmp_path / "ledger"), "--threads", "2", "--processes", "1",
        server=fork_server.shared,
    )  # fmt: skip
    try:
        assert sent[0].result(60) == 3
        assert asyncio.run(sent[1].aresult(60)) == 4
        assert sent[2].result(60) == [0, 1, 2]
        with pytest.raises(TaskFailed, match="not again"):
            sent[3].result(60)
        later = tasks.add.postpone(3600, 5)
        assert later.state == "postponed"
        assert later.run_now()
        assert later.result(60) == 6
        assert worker.stop() == 0
    finally:
        worker.end()
    assert "Traceback" not in worker.text()
    assert isinstance(get_broker(), SqliteStore)


def test_handles_and_the_worker_of_tests_use_the_store_of_the_setting(chosen: dict[str, Any]) -> None:
    """Conflicts, cancels, retries and waits that end early."""
    first = tasks.add.using(id="a").push(1)
    second = tasks.add.using(id="a", on_conflict="replace").push(2)
    with pytest.raises(TaskSuperseded):
        first.result(60)
    with pytest.raises(ResultTimeout):
        second.result(0)
    assert run_worker() == 1
    assert second.result(0) == 3
    assert second.retry()
    assert second.cancel("no")
    with pytest.raises(TaskCancelled, match="no"):
        second.result(60)
    assert get("a") == second
    assert get("b") is None


@pytest.mark.django_db
def test_a_task_is_read_and_acted_on_by_its_id(chosen: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """In code and in a terminal: a store without lists has its record, its log and its actions."""
    tasks.add.using(id="a", tags=["red"], priority=5, timeout=60).push(1, b=2)
    tasks.fail_for_good.using(id="b").push()
    assert run_worker() == 2
    found, failed = inspect.task("a"), inspect.task("b", "default")
    assert found is not None
    assert (found.state, found.args, found.result_json) == ("succeeded", "1, b=2", "3")
    assert (found.tags, found.priority, found.timeout_ms, found.lane) == (("red",), 5, 60_000, "default")
    assert found.entered_ms == found.ended_ms
    assert failed is not None
    assert (failed.error.message if failed.error else "", len(failed.attempts)) == ("not again", 1)
    assert inspect.raw("a")["s (state)"] == "succeeded"
    assert inspect.task("a", "other") is inspect.task("none") is None
    assert [row.word for row in control.retry(["a", "none"])] == ["OK", "GONE"]
    assert control.postpone(["a"], until_ms=found.created_ms + 600_000)[0].state == "postponed"
    assert control.postpone(["a"], seconds=60)[0].state == "postponed"
    assert [row.word for row in control.cancel(["a"], "no", "other")] == ["GONE"]
    with pytest.raises(BadOption, match="within the next ten years"):
        control.postpone(["a"], until_ms=2**50)
    call_command("queue", "show", "a")
    call_command("queue", "cancel", "a", "--reason", "no", "--yes")
    with pytest.raises(SystemExit):
        call_command("queue", "delete", "a", "--yes")
    said = capsys.readouterr().out
    assert "state       postponed since" in said
    assert re.findall(r"^a +(OK|REFUSED) +cancelled *(.*)", said, re.MULTILINE) == [
        ("OK", ""), ("REFUSED", "the store does not offer the action delete"),
    ]  # fmt: skip


def test_what_the_store_leaves_out_is_one_clear_error(chosen: dict[str, Any]) -> None:
    """In code and in commands: never an AttributeError."""
    after = tasks.add.using(id="a", on_conflict="run_after")
    refused: dict[str, Callable[[], Any]] = {
        "composites": chain(tasks.add.s(1), tasks.add.s(2)).push,
        "mapreduce": lambda: tasks.Letters.push("abc"),
        "the conflict policies run_after and debounce": lambda: after.push(1),
        "an expiry of tasks": lambda: tasks.add.using(expires=60).push(1),
        "schedules": lambda: get_broker().schedules("default"),
        "lists, searches and counts of tasks": inspect.snapshot,
        "namespaces for tests": lambda: namespace().__enter__(),
        "settings of lanes": lambda: get_broker().lane("default", "a", paused=1),
    }
    for what, call in refused.items():
        with pytest.raises(NotOffered) as caught:
            call()
        assert str(caught.value).startswith(f"The store SqliteStore does not offer {what}."), what
    with pytest.raises(NotOffered, match="messages at the end of a task"), events.follow(id="a"):
        pass
    with pytest.raises(DurabilityUnsupported):
        tasks.add.using(durable=True).push(1)
    key = Fernet.generate_key().decode()
    with (
        override_settings(QUEUEOPS=chosen | {"ENCRYPTION": [key]}),
        pytest.raises(BadSetting, match="in clear") as caught,
    ):
        tasks.add.push(1)
    assert key not in str(caught.value)
    for command in (("queue", "status"), ("queue", "list"), ("watchdog",)):
        with pytest.raises(CommandError, match="The store SqliteStore does not offer "):
            call_command(*command)
    for known in vars(RedisBroker(conf.Settings())).keys() - {"settings"}:
        with pytest.raises(AttributeError if known.startswith("_") else NotOffered):
            getattr(get_broker(), known)
    with pytest.raises(AttributeError, match="'SqliteStore' object has no attribute 'rekord'"):
        get_broker().rekord  # noqa: B018
    with pytest.raises(BrokerUnavailable, match=r"^The store at /nowhere/tasks did not answer"):
        SqliteStore(conf.Settings(url="/nowhere/tasks")).pools()
    exposition = expose("", "", open_to_all=True)
    assert (exposition.status, exposition.body[:25]) == (501, b"The store SqliteStore doe")


def test_the_doctor_tells_a_store_that_leaves_questions_out_from_one_that_is_gone(chosen: dict[str, Any]) -> None:
    """The first is no fault; the remedy of the others fits them."""
    found = {each.check: each for each in doctor.examine()}
    assert (found["store"].level, found["workers"].level) == ("warn", "warn")
    assert "It answers. The store SqliteStore does not offer" in found["store"].seen
    assert found["workers"].seen.endswith("the store does not offer it.")
    for setting, remedy in (
        ({"URL": "/nowhere/tasks"}, "Start it, or correct QUEUEOPS['URL']."),
        ({"STORE": "a.B"}, ""),
    ):
        with override_settings(QUEUEOPS=chosen | setting):
            store = next(each for each in doctor.examine() if each.check == "store")
            assert (store.level, store.remedy) == ("fail", remedy)


@pytest.mark.django_db
def test_pages_of_the_console_say_what_the_store_leaves_out(chosen: dict[str, Any], admin_client: Client) -> None:
    """A page with the sentence, or with its own contents: never a 500. A fragment gets the sentence alone."""
    tasks.add.using(id="a").push(1, b=2)
    assert run_worker() == 1
    task = reverse("console:task", args=["a"])
    lists = ("overview", "tasks", "workers", "lanes", "errors", "schedules", "registry")
    pages = {reverse(f"console:{page}"): 501 for page in lists} | {f"{task}why/": 501, task: 200, f"{task}raw/": 200}
    pages |= {reverse(f"console:{page}"): 200 for page in ("audit", "settings")}
    for page, status in pages.items():
        response = admin_client.get(page)
        assert response.status_code == status, page
        assert "The store SqliteStore does not offer lists" in response.content.decode(), page
    assert "Everything is well" not in admin_client.get(task).content.decode()
    admin_client.post(f"{task}_retry", {"pool": "default", "confirmed": "1"})
    assert get("a").state == "pending"  # type: ignore[union-attr]
    assert [(entry.verb, entry.outcome) for entry in AuditEntry.objects.all()] == [("retry", "done")]
    fragment = admin_client.get(reverse("console:overview"), headers={"HX-Request": "true"})
    assert (fragment.status_code, fragment.content.decode()[:41]) == (501, "The store SqliteStore does not offer list")
    assert admin_client.get(reverse("console:readyz")).status_code == 200
    with override_settings(QUEUEOPS=chosen | {"URL": "/nowhere/tasks"}):
        assert admin_client.get(reverse("console:readyz")).status_code == 503
    problem = problem_of(NotOffered(store="SqliteStore", capability="jobs"))
    assert (problem.status, problem.detail[:39]) == (501, "The store SqliteStore does not offer jo")


def test_a_store_that_cannot_be_used_is_an_error_of_the_checks(settings: Any) -> None:
    """It names the value, and what was wrong with it."""
    faults = {
        "SqliteStore": "must be a dotted path",
        "tests.stores.nowhere.Store": "cannot|No module named 'tests.stores.nowhere'",
        "tests.stores.sqlite_store.Nothing": "Nothing",
        "tests.stores.sqlite_store.LINES": "not of the type int",
    }
    for value, reason in faults.items():
        settings.QUEUEOPS = {"STORE": value, "URL": "/anything"}
        with pytest.raises(SystemCheckError, match=reason):
            call_command("check", "queueops")
    settings.QUEUEOPS = {"STORE": PATH, "URL": "/anything"}
    call_command("check", "queueops", deploy=True)
