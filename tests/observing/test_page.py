"""The page about observability: its settings are valid, and its log recipes write one line for each event."""

from __future__ import annotations

import json
import logging.config
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import structlog

from queueops import conf
from queueops.contrib.django_tasks import QueueOpsBackend
from queueops.log_handler import LineHandler
from queueops.logs import configure
from queueops.testing import run_worker
from tests.observing import tasks
from tests.repository.examples import examples

PAGE = "observability.md"
BACKEND = f"{QueueOpsBackend.__module__}.{QueueOpsBackend.__qualname__}"


@pytest.fixture
def own_logging() -> Iterator[None]:
    """The logging of the run of tests, as it was."""
    loggers = [logging.root, *map(logging.getLogger, ("django.tasks", "django_tasks"))]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    assert tasks.logger.propagate, "another test has changed the logger of these tasks"
    yield
    structlog.reset_defaults()
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


def recipe(containing: str, page: str = PAGE) -> dict[str, Any]:
    (code,) = (example for example in examples(page) if containing in example)
    names: dict[str, Any] = {}
    exec(compile(code, page, "exec"), names)
    return names


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    for handler in logging.root.handlers:
        if isinstance(handler, LineHandler):
            handler.flush()
    return capsys.readouterr().err.splitlines()


def test_the_settings_of_the_page_are_valid() -> None:
    found = [conf.read_settings(recipe(name)["QUEUEOPS"]) for name in ('"SENTRY"', '"TRACE_URL"')]
    assert [errors for _, errors in found] == [[], []]
    assert found[0][0].sentry == conf.SentrySettings()
    assert found[1][0].trace_url == "https://tracing.example/trace/{trace_id}"
    wrong = ["https://tracing.example/", "ftp://x/{trace_id}", "https://x/{trace_id}/{other}", "/{trace_id}", 7]
    for value in wrong:
        (error,) = conf.read_settings({"TRACE_URL": value})[1]
        assert "{trace_id}" in str(error)


@pytest.mark.usefixtures("namespace", "own_logging")
@pytest.mark.parametrize("containing", ["queueops.logs.JsonFormatter", "structlog.configure"])
def test_a_recipe_writes_one_line_for_each_event_with_the_task(
    containing: str, capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}
    of_django = import_module("tests.support.django_tasks_for_tests")
    logging.config.dictConfig(recipe(containing)["LOGGING"])
    handle, failed = tasks.logs.push(), tasks.fails.push("ada", "hunter2")
    framework = of_django.add.enqueue(1, 2)
    run_worker()
    found = [json.loads(line) for line in lines(capsys)]
    own = [each for each in found if each.get("task") == handle.id]
    text = "message" if "message" in own[0] else "event"
    by_structlog = ["by-structlog"] if text == "event" else []  # without its configuration it prints by itself
    assert [each[text].split(" ")[0] for each in own] == ["by-stdlib", *by_structlog, "observed.logs"]
    assert {each["root"] for each in own} == {handle.id}
    assert own[-1]["outcome"] == "success"
    assert [each["attempt"] for each in found if each.get("task") == failed.id and "attempt" in each] == [1, 2]
    assert len([each for each in found if framework.id in json.dumps(each)]) == 1


@pytest.mark.usefixtures("namespace", "own_logging")
def test_the_workers_own_format_leaves_out_the_second_line_of_the_framework(
    capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}
    of_django = import_module("tests.support.django_tasks_for_tests")
    configure("json")
    framework = of_django.add.enqueue(1, 2)
    run_worker()
    assert len([line for line in lines(capsys) if framework.id in line]) == 1
