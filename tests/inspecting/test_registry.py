"""The registry of tasks: what each is, takes and says, when it runs by itself, and which workers know it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator as Iterates
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from queueops import Chain, Depends, Iterator, MapReduce, Retry, inspect, task
from queueops.inspect import KnownTask
from queueops.model.redact import MASK
from queueops.tasks import registry
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support import tasks_for_tests as tasks


@pytest.fixture(autouse=True)
def own_tasks() -> Iterates[None]:
    before = set(registry.handlers())

    @task(name="reg.plain")
    def plain(number: int, *, on: dt.date | None = None, client: Any = Depends(dict)) -> str:
        """Make a report.

        It has a second paragraph.
        """
        return ""

    @task(
        name="reg.rich",
        pool="mail",
        lane="bulk",
        priority=7,
        retries=5,
        retry=Retry(1),
        timeout=dt.timedelta(seconds=30),
        unique="mail:{to}",
        cron="0 3 * * *",
        retry_on=(OSError, ValueError),
        tags=["a", "b"],
        keep=60,
        on_conflict="reject",
        durable=True,
        meta={"tenant": 7, "token": "hunter2"},
        middleware=["shop.middleware.Timing"],
        encoder=str,
    )
    def rich(to: str = "a@example.org", password: str = "hunter2") -> None: ...

    class Letters(MapReduce):
        """Count letters."""

        name = "reg.letters"
        max_parallel = 4
        on_chunk_failure = "drop:5%"

        def map(self, *words: str) -> Any: ...

        def process(self, chunk: str) -> int: ...

    class Emit(Iterator):
        name = "reg.emit"
        window = 7

        def iterate(self, state: Any, since: dt.date) -> None: ...

    class Both(Chain):
        name = "reg.both"

        def init(self, path: str) -> Any: ...

    yield
    for kind, name in set(registry.handlers()) - before:
        registry.unregister(kind, name)


def known(name: str) -> KnownTask:
    return next(row for row in inspect.registry() if row.name == name)


def test_each_task_tells_its_signature_without_what_no_push_gives(desk: Desk) -> None:
    assert known("reg.plain").signature == "(number: int, *, on: datetime.date | None = None) -> str"
    assert known("reg.letters").signature == "(*words: str)"
    assert known("reg.emit").signature == "(since: datetime.date)"
    assert known("reg.both").signature == "(path: str)"
    assert [known(f"reg.{name}").kind for name in ("plain", "letters", "emit", "both")] == [
        "task",
        "mapreduce",
        "iterator",
        "chain",
    ]


def test_it_tells_its_docstring_and_its_module(desk: Desk) -> None:
    assert known("reg.plain").doc == "Make a report.\n\nIt has a second paragraph."
    assert known("reg.letters").doc == "Count letters."
    assert known("reg.emit").doc == known("reg.rich").doc == ""
    assert known("reg.plain").module == __name__


def test_it_tells_the_options_that_differ_from_the_usual_ones(desk: Desk) -> None:
    assert known("reg.plain").options == {"pool": "default"}
    rich = dict(known("reg.rich").options)
    assert json.loads(rich.pop("meta")) == {"tenant": 7, "token": MASK}
    assert rich == {
        "pool": "mail",
        "lane": "bulk",
        "priority": "7",
        "retries": "5",
        "retry": "Retry(delay=1, backoff=2, max_delay=3600, jitter=0.1)",
        "timeout": "30 s",
        "tags": "a, b",
        "keep": "60 s",
        "on_conflict": "reject",
        "durable": "True",
        "unique": "mail:{to}",
        "retry_on": "OSError, ValueError",
        "middleware": "shop.middleware.Timing",
        "encoder": "str",
    }
    assert known("reg.letters").options == {"pool": "default", "max_parallel": "4", "on_chunk_failure": "drop:5%"}
    assert known("reg.emit").options == {"pool": "default", "window": "7"}


def test_it_tells_when_it_runs_by_itself_and_hides_secrets(desk: Desk) -> None:
    assert (known("reg.rich").schedule, known("reg.plain").schedule) == ("0 3 * * *", "")
    assert known("reg.rich").signature == f"(to: str = 'a@example.org', password: str = {MASK}) -> None"
    assert "hunter2" not in str(known("reg.rich"))


def test_it_tells_which_workers_know_it(desk: Desk) -> None:
    assert known("reg.plain").workers == ()
    beat(desk, "w1", names="reg.plain,far.away")
    beat(desk, "w2", names="reg.plain,reg.rich")
    beat(desk, "w3", names="")
    beat(desk, "w4", names=",".join(f"n{number}" for number in range(200)))
    found = known("reg.plain")
    assert (found.workers, found.unsure, found.is_here) == (("w1", "w2"), 2, True)
    far = known("far.away")
    assert (far.workers, far.is_here, far.signature, far.options) == (("w1",), False, "", {})
    assert known("reg.letters").workers == ()


def test_all_are_told_by_name(desk: Desk) -> None:
    names = [row.name for row in inspect.registry()]
    assert names == sorted(set(names))
    assert {"reg.plain", tasks.add.name, "demo.count_words"} <= set(names)


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("queue", *arguments, stdout=output)
    return output.getvalue()


def test_the_terminal_lists_them_and_shows_one(desk: Desk) -> None:
    beat(desk, "w1", names="reg.plain")
    listed = run("tasks")
    (line,) = [line for line in listed.splitlines() if line.startswith("reg.plain ")]
    assert "(number: int, *, on: datetime.date | None = None) -> str" in line
    assert "Make a report." in line
    shown = run("tasks", "reg.rich")
    for text in ("reg.rich", "0 3 * * *", "mail", "Retry(delay=1", "OSError, ValueError"):
        assert text in shown
    assert "w1" in run("tasks", "reg.plain")
    assert "It has a second paragraph." in run("tasks", "reg.plain")
    assert "hunter2" not in listed + shown
    rows = json.loads(run("tasks", "--json"))
    assert next(row for row in rows if row["name"] == "reg.plain")["workers"] == ["w1"]
    assert json.loads(run("tasks", "reg.letters", "--json"))["options"]["max_parallel"] == "4"


def test_a_name_that_nobody_knows_is_told_with_the_nearest(desk: Desk) -> None:
    with pytest.raises(CommandError, match=r"No task is named 'reg\.plan'; did you mean 'reg\.plain'\?"):
        run("tasks", "reg.plan")


def test_hostile_text_does_not_reach_the_terminal(desk: Desk) -> None:
    task(name="reg.hostile")(hostile)
    beat(desk, "w\x1b[31m", names="reg.hostile,x\x1b[2J")
    assert "\x1b" not in run("tasks") + run("tasks", "reg.hostile")


def hostile() -> None:
    """Turn \x1b[31m red."""
