"""Expected errors: `@task(expected=...)` fails at once, is logged quietly, and raises no alarm."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from queueops import Permanent, TaskFailed, inspect, task, task_failed
from queueops.errors import BadOption
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.redis.broker import get_broker
from queueops.testing import eager, run_worker
from queueops.worker.loop.metrics_buffer import MetricsBuffer


@task(retries=3, expected=(LookupError, OSError))
def find(what: str) -> None:
    """Fail in one of several ways."""
    match what:
        case "nothing":
            raise KeyError(what)
        case "decided":
            raise Permanent(OSError("closed"))
    raise ValueError(what)


@task(expected=LookupError)
async def find_later() -> None:
    """Fail as expected, in async code."""
    raise IndexError("empty")


def ends(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record for record in caplog.records if record.name in ("queueops.tasks", "queueops.worker")]
    return [f"{line.levelname} {line.getMessage().partition(' (')[0].split(' ', 2)[2]}" for line in lines]


def test_an_expected_error_fails_the_task_at_once_and_is_in_no_list_of_errors(
    namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "queueops.tasks")
    told: list[tuple[str, bool]] = []

    def receiver(error: BaseException, expected: bool, **_: Any) -> None:
        told.append((type(error).__name__, expected))

    task_failed.connect(receiver)
    try:
        handles = [find.push("nothing"), find.push("decided"), find_later.push()]
        run_worker()
    finally:
        task_failed.disconnect(receiver)
    for handle in handles:
        record = get_broker().record(handle.pool, handle.id)
        assert record is not None
        assert (record.state, record.attempt, record.fingerprint) == ("failed", 1, "")
        with pytest.raises(TaskFailed):
            handle.result(timeout=5)
    assert sorted(told) == [("IndexError", True), ("KeyError", True), ("OSError", True)]
    assert sorted(ends(caplog)) == [
        "INFO failed as expected: IndexError: empty",
        "INFO failed as expected: KeyError: 'nothing'",
        "INFO failed as expected: OSError: closed",
    ]
    assert list(inspect.errors()) == []
    assert find.push("another").state == "pending"


def test_another_error_is_retried_and_listed(namespace: str, caplog: pytest.LogCaptureFixture) -> None:
    handle = find.push("something")
    run_worker()
    assert handle.state == "restart"
    assert ends(caplog) == ["WARNING will be tried again: ValueError: something"]
    assert [(row.type, row.message) for row in inspect.errors()] == [("ValueError", "something")]


def test_the_figures_of_alarms_do_not_count_an_expected_error_as_a_failure() -> None:
    lease = Lease(id="x", fence=1, name="find")
    for expected, counted in ((True, "ok|find"), (False, "err|find")):
        metrics = MetricsBuffer()
        metrics.add(lease, Settlement("x", 1, Outcome.ERROR, delay_ms=-1, expected=expected), 1.0)
        assert [field for field in metrics.due(0.0) or () if field in ("ok|find", "err|find")] == [counted]


def test_eager_tasks_fail_with_an_expected_error_in_the_first_attempt() -> None:
    with eager():
        handle = find.push("nothing")
        record = handle.in_memory.record(handle.pool, handle.id)
        assert (record.state, record.attempt) == ("failed", 1)


def test_what_is_not_an_exception_class_is_refused() -> None:
    with pytest.raises(BadOption, match=r"option expected is .*exception classes"):
        task(expected=("ValueError",))(find.handler.func)
