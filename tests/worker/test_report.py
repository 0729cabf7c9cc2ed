"""The lines of the worker's log at the start and at the end of each task."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from functools import wraps
from typing import Any

import pytest

from queueops.errors import Cancelled, Restart
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.tasks.context import Context
from queueops.worker.execution import report
from tests.support.forked import status_of
from tests.support.rig import Rig, answer
from tests.support.waiting import wait_until


def end_with(error: BaseException) -> Any:
    def function(context: Context) -> None:
        raise error

    return function


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Level and message of each line, the milliseconds as N."""
    return [f"{record.levelname} " + re.sub(r"\d+ ms", "N ms", record.getMessage()) for record in caplog.records]


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "queueops.tasks")


@pytest.mark.parametrize("function", [lambda context: 42, answer])
def test_a_task_that_succeeds_leaves_one_line_at_its_end(
    rig: Rig, caplog: pytest.LogCaptureFixture, function: Any
) -> None:
    rig.run(function)
    assert lines(caplog) == ["INFO task0 t1 succeeded after N ms (attempt 1 of 1)"]


@pytest.mark.parametrize("function", [lambda context: 42, answer])
def test_the_level_debug_has_a_line_at_the_start_too(rig: Rig, caplog: pytest.LogCaptureFixture, function: Any) -> None:
    caplog.set_level(logging.DEBUG, "queueops.tasks")
    rig.run(function, attempt=2, retries=3, root="r1", pool="mail")
    assert lines(caplog) == [
        "DEBUG task0 t1 started (attempt 2 of 4)",
        "INFO task0 t1 succeeded after N ms (attempt 2 of 4)",
    ]
    fields = {"task": "t1", "root": "r1", "name": "task0", "pool": "mail", "attempt": 2, "attempts": 4}
    start, end = (vars(record)["told"] for record in caplog.records)
    assert start == fields
    assert end == fields | {"ms": end["ms"], "outcome": "success"}
    assert 0 <= end["ms"] < 60_000


def test_the_milliseconds_are_those_that_the_task_took(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    async def sleep(context: Context) -> None:
        await asyncio.sleep(0.05)

    rig.run(sleep)
    assert vars(caplog.records[-1])["told"]["ms"] >= 50


@pytest.mark.parametrize(
    ("error", "retries", "end"),
    [
        (ValueError("no"), 0, "WARNING task0 t1 failed: ValueError: no (after N ms, attempt 1 of 1)"),
        (ValueError("no"), 1, "WARNING task0 t1 will be tried again: ValueError: no (after N ms, attempt 1 of 2)"),
        (Cancelled(reason=""), 0, "INFO task0 t1 was cancelled after N ms (attempt 1 of 1)"),
        (Restart(seconds=1, counted=False), 0, "INFO task0 t1 restarts after N ms (attempt 1 of 1)"),
    ],
)
def test_each_other_end_is_one_line_too(
    rig: Rig, caplog: pytest.LogCaptureFixture, error: BaseException, retries: int, end: str
) -> None:
    rig.run(end_with(error), retries=retries)
    assert lines(caplog) == [end]


def test_a_project_may_turn_the_lines_off_and_keep_those_of_failures(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "queueops.tasks")
    rig.run(end_with(ValueError("no")))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_what_a_task_chooses_is_masked_in_its_line(caplog: pytest.LogCaptureFixture) -> None:
    lease = Lease(id="user:password=hunter2", fence=1, name="send")
    report.ended(lease, Settlement(lease.id, 1, Outcome.ERROR, title="ValueError: \x1btoken=hunter2"), 0.002)
    report.ended(
        lease, Settlement(lease.id, 1, Outcome.SUCCESS), 0.002, lambda value: f"told {value}", "password=hunter2"
    )
    assert lines(caplog) == [
        "WARNING send user:password=[redacted] failed: ValueError: \\x1btoken=[redacted] (after N ms, attempt 1 of 1)",
        "INFO send user:password=[redacted] told password=[redacted] after N ms (attempt 1 of 1)",
    ]
    assert caplog.records[1].msg == "%s %s %s after %d ms (attempt %d of %d)"  # error trackers group by it


def test_a_level_of_the_project_holds_for_failures_too(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "queueops.worker")
    rig.run(end_with(ValueError("no")))
    assert lines(caplog) == []


class Broken(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        raise AttributeError("request")


@pytest.mark.parametrize("function", [lambda context: 42, answer])
def test_tasks_go_on_where_the_projects_logging_fails(
    rig: Rig, function: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "_has_failed", False)
    broken = Broken()
    report.logger.addFilter(broken)
    try:
        outcomes = [rig.run(function).outcome for _ in range(5)]
    finally:
        report.logger.removeFilter(broken)
    assert set(outcomes) == {Outcome.SUCCESS}
    assert capfd.readouterr().err.count("The logging of this project failed") == 1
    assert rig.executor.broken is None


@pytest.mark.parametrize(
    ("function", "place"), [(lambda context: 42, "thread_executor.execute"), (answer, "async_executor.aexecute")]
)
def test_an_error_of_the_engine_in_a_slot_is_told_to_the_loop(
    rig: Rig, function: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("of the engine")

    monkeypatch.setattr(f"queueops.worker.execution.{place}", fail)
    rig.submit(rig.task(function))
    wait_until(lambda: rig.executor.broken is not None)
    assert str(rig.executor.broken) == "of the engine"
    wait_until(lambda: bool(rig.rings))


TIMES = {"created", "msecs", "relativeCreated"}


@pytest.mark.parametrize("function", [lambda context: 42, answer])
def test_a_record_has_what_logging_itself_puts_into_one(
    rig: Rig, caplog: pytest.LogCaptureFixture, function: Any
) -> None:
    made: list[logging.LogRecord] = []

    class Making(logging.Filter):
        """Makes the same record again, in the same thread."""

        def filter(self, record: logging.LogRecord) -> bool:
            place = record.name, record.levelno, record.pathname, 0
            made.append(logging.LogRecord(*place, record.msg, record.args, None, "_log"))
            return True

    making = Making()
    report.logger.addFilter(making)
    try:
        for _ in range(2):
            rig.run(function)
    finally:
        report.logger.removeFilter(making)
    added = {"told", "queueops_masked", "message", "task", "root"}
    for record, same in zip(caplog.records, made, strict=True):
        assert vars(record).keys() - added == vars(same).keys()
        assert all(vars(record)[field] == value for field, value in vars(same).items() if field not in TIMES)
        assert all(0 <= vars(same)[field] - vars(record)[field] < 60_000 for field in TIMES - {"msecs"})
        assert abs(record.msecs - record.created % 1 * 1000) < 1.01


def test_a_record_of_a_forked_process_has_its_id(caplog: pytest.LogCaptureFixture) -> None:
    def log() -> None:
        report.ended(Lease(id="t1", fence=1, name="send"), Settlement("t1", 1, Outcome.SUCCESS), 0.002)
        assert caplog.records[-1].process == os.getpid()

    log()
    assert status_of(log) == 0


class OwnRecord(logging.LogRecord):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.span = "s1"


def test_a_record_factory_of_the_project_makes_the_records(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.run(lambda context: 42)
    logging.setLogRecordFactory(OwnRecord)
    try:
        rig.run(lambda context: 42)
    finally:
        logging.setLogRecordFactory(logging.LogRecord)
    assert [getattr(record, "span", "") for record in caplog.records] == ["", "s1"]


def test_a_tracer_that_wraps_the_making_of_records_sees_each(
    rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = logging.Logger.makeRecord

    @wraps(make)
    def traced(*args: Any, **more: Any) -> logging.LogRecord:
        record = make(*args, **more)
        record.span = "s2"
        return record

    monkeypatch.setattr(logging.Logger, "makeRecord", traced)
    rig.run(lambda context: 42)
    assert [getattr(record, "span", "") for record in caplog.records] == ["s2"]
