"""The result of the part before is among the arguments that are shown: it is the first one that the part gets."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from queueops import Retry, chain, control, get, inspect, task
from queueops.inspect import TaskQuery
from queueops.testing import run_worker

pytestmark = pytest.mark.django_db
ORDER = {"order": 4711}


@task(retries=0)
def order() -> dict[str, int]:
    return ORDER


@task(retries=0)
def charge(order: dict[str, int], password: str = "", note: str = "") -> None:
    raise ValueError("no")


@task(retries=0)
def long() -> str:
    return "x" * 5000


@pytest.fixture(autouse=True)
def ended(namespace: str) -> None:
    chain(order.s(), charge.using(id="c").s("hunter2", note="n")).push()
    run_worker()


@pytest.fixture
def administrator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


def queue(*words: str) -> str:
    out = StringIO()
    call_command("queue", *words, stdout=out)
    return out.getvalue()


def test_a_status_has_the_result_as_its_first_argument() -> None:
    assert get("c").status().args == [ORDER, "hunter2"]


def test_its_page_and_the_terminal_show_it_and_mask_the_right_arguments() -> None:
    found = inspect.task("c")
    assert found is not None
    assert json.loads(found.args_json) == [[ORDER, "[redacted]"], {"note": "n"}]
    assert json.loads(found.own_args_json) == [["[redacted]"], {"note": "n"}]
    assert found.args.startswith('{"order": 4711}')
    for words in (("show", "c"), ("list", "--name", charge.name)):
        told = queue(*words)
        assert "4711" in told
        assert "hunter2" not in told
    assert '{\n  "order": 4711\n}' in inspect.raw("c")["pv (previous)"]


def test_its_page_says_where_the_first_argument_comes_from(administrator: Client) -> None:
    page = administrator.get("/ops/tasks/c/").content.decode()
    assert "4711" in page
    assert "The first argument is the result of the task before it." in page
    assert "The task has no arguments." not in page
    (row,) = inspect.tasks(TaskQuery(id="c")).rows
    assert row.args.startswith('{"order": 4711}')


def test_a_long_result_is_named_in_lists() -> None:
    chain(long.s(), charge.using(id="d").s()).push()
    run_worker()
    rows = {row.id: row.args for row in inspect.tasks(TaskQuery(name=charge.name)).rows}
    assert rows["d"] == '"the result of the task before it"'


def test_an_edit_replaces_its_own_arguments_alone(administrator: Client) -> None:
    chain(order.s(), charge.using(id="e", retries=1, retry=Retry(delay=3600)).s("hunter2")).push()
    run_worker()
    form = administrator.get("/ops/tasks/e/edit/").content.decode()
    assert "4711" not in form
    control.edit_and_retry("e", ["other"], None)
    assert get("e").status().args == [ORDER, "other"]
