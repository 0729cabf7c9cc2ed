"""Attempts and delays of jobs and callbacks are settings. By default they are exponential, with jitter."""

from __future__ import annotations

from typing import Any

from queueops import conf, control, inspect, jobs
from queueops.jobs import Job
from queueops.kinds.jobs.settings import of_jobs
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import LocalServer
from tests.jobs.test_callbacks import callback_of, target  # noqa: F401  a fixture
from tests.support.for_each import for_each

LINEAR = {
    "RETRY": {"retries": 2, "delay": 120, "growth": "linear", "jitter": 0},
    "CALLBACK_RETRY": {"retries": 1, "delay": 600, "growth": "linear", "jitter": 0},
}
"""Attempts and delays of the original system."""


def waits(id: str) -> int:
    """Seconds between the end of the last attempt of a task and its next one."""
    found = inspect.task(id)
    assert found.state == "restart"
    return round(((found.due_ms or 0) - found.entered_ms) / 1000)


def test_the_defaults_are_exponential_with_jitter() -> None:
    for rule in (of_jobs().retry, of_jobs().callback_retry):
        assert (rule.growth, rule.jitter > 0) == ("exponential", True)
    assert (of_jobs().retry.retries, of_jobs().callback_retry.retries) == (2, 9)


def test_linear_delays_of_jobs_and_callbacks(target: LocalServer, handler: Register, settings: Any) -> None:  # noqa: F811
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | LINEAR}
    target.routes["/gone"] = lambda exchange: exchange.answer(503)

    def fail(job: Job) -> None:
        raise OSError("down")

    handler(fail)
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/gone"))
    delays = []
    for _ in range(2):
        run_worker()
        delays.append(waits(job.id))
        control.run_now([job.id])
    assert delays == [120, 240]
    run_worker()
    assert inspect.task(job.id).state == "failed"
    callback = callback_of(job)
    assert (waits(callback.id), callback.retries) == (600, 1)
    control.run_now([callback.id])
    run_worker()
    assert inspect.task(callback.id).state == "failed"


def test_what_a_job_says_itself_wins(handler: Register, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | LINEAR}
    handler(lambda job: None)
    job = jobs.submit(aggregation="a", handler="work", retries=7)
    assert inspect.task(job.id).retries == 7


def test_a_callback_may_take_as_long_as_the_setting_says(target: LocalServer, handler: Register, settings: Any) -> None:  # noqa: F811
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"CALLBACK_TIMEOUT": 300}}
    handler(lambda job: None)
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/gone"))
    run_worker()
    timeouts = [inspect.task(callback_of(job).id).timeout_ms]
    test = control.send_test_callback(target.url("/gone"))
    timeouts.append(inspect.task(test.id).timeout_ms)
    assert timeouts == [330_000, 330_000]
    assert get_broker().record("default", test.id).retries == 0


@for_each(
    ("rule", "said"),
    [
        ({"growth": "cubic"}, "['growth']"),
        ({"retries": -1}, "['retries']"),
        ({"jitter": 2}, "['jitter']"),
        ({"delays": 2}, "did you mean 'delay'?"),
        (7, "must be a dict"),
    ],
)
def test_a_wrong_rule_is_named(rule: object, said: str) -> None:
    _, errors = conf.read_settings({"JOBS": {"CALLBACK_RETRY": rule}})
    assert [said in str(error) for error in errors] == [True]
