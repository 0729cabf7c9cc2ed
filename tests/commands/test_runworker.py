"""What `manage.py runworker` says before it begins."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from django.core.management import CommandError, call_command

from queueops import MapReduce, task
from queueops.management.commands import runworker
from queueops.model import warn_once
from queueops.tasks import registry


@pytest.fixture(autouse=True)
def own_tasks() -> Iterator[None]:
    warn_once.forget()
    with mock.patch.dict(registry._handlers, clear=True), mock.patch.dict(registry._places, clear=True):
        task(name="shop.mail", pool="mail")(lambda: None)
        task(name="shop.index")(lambda: None)
        own = {"pool": "numbers", "name": "shop.count", "__module__": __name__, "process": lambda self, chunk: chunk}
        type("Count", (MapReduce,), own)
        yield


def warnings(caplog: pytest.LogCaptureFixture, *words: str) -> list[str]:
    with mock.patch.object(runworker, "run_worker", return_value=0), pytest.raises(SystemExit):
        call_command("runworker", *words)
    return [record.getMessage() for record in caplog.records]


def test_a_worker_names_the_pools_of_tasks_that_it_leaves_out(caplog: pytest.LogCaptureFixture) -> None:
    advice = "is not served by this worker: name it in QUEUEOPS['POOLS'], or by --pool"
    assert warnings(caplog) == [
        f"The pool mail, that of shop.mail, {advice} mail",
        f"The pool numbers, that of shop.count, {advice} numbers",
    ]


def test_pools_that_the_settings_name_are_served(caplog: pytest.LogCaptureFixture, settings: object) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"mail": {}, "numbers": {}}}  # type: ignore[attr-defined]
    assert warnings(caplog) == []


def test_who_chooses_pools_knows_what_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = warnings(caplog, "--pool", "mail")
    assert message.startswith("QUEUEOPS['POOLS'] does not have the pool 'mail'")


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (["-c", "8"], "-c 8. Write --processes N --threads 1 for tasks that compute, or --threads N for"),
        (["-c8"], "-c8. Write --processes N"),
        (["--concurrency=8"], "--concurrency=8. Write --processes N"),
        (["-Q", "mail"], "-Q mail. Write --pool NAME, once for each pool."),
        (["mail", "default"], "mail default. Write --pool mail"),
        (["-B"], "-B. Run `manage.py watchdog` beside the worker: it runs what has a cron=."),
        (["--max-tasks-per-child", "9"], "--max-tasks-per-child 9. Write --max-tasks N."),
        (["--nothing"], "--nothing"),
    ],
)
def test_an_argument_of_another_worker_is_answered_with_what_to_write(words: list[str], instead: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("runworker", *words)
    assert str(caught.value).startswith(f"Error: unrecognized arguments: {instead}")
