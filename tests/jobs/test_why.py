"""Why a job or a callback does not start now, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops import inspect, jobs
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import LocalServer, serving
from tests.jobs.test_callbacks import callback_of
from tests.jobs.test_circuits import end
from tests.kernel.desk import Desk


@pytest.fixture
def target(namespace: str, settings: Any) -> Iterator[LocalServer]:
    """A server that is down; one failure opens its circuit."""
    given = LOCAL | {"CIRCUIT_FAILURES": 1, "CIRCUIT_WAIT": 3600}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": given}
    with serving({"/hook": lambda exchange: exchange.answer(503)}) as server:
        yield server


def reason(id: str) -> str:
    """The first check that failed."""
    return next(finding.text for finding in inspect.why(id) if not finding.ok)


@pytest.mark.usefixtures("namespace")
def test_a_job_waits_for_a_slot_of_its_aggregation() -> None:
    given: Any = {"aggregation": "shop 7", "handler": "work", "limit": 2}
    made = jobs.submit_many([given] * 3)
    Desk(get_broker()).claim(2)
    assert reason(made[2].id) == "The job waits for a slot of aggregation shop 7: 2 of 2 are in use."


def test_a_callback_backs_off_and_others_wait_for_the_circuit_of_the_address(
    target: LocalServer, handler: Register
) -> None:
    handler(lambda job: None)
    first, second = jobs.submit_many([{"aggregation": "a", "handler": "work", "callback_url": target.url("/hook")}] * 2)
    run_worker()
    rows = [callback_of(job) for job in (first, second)]
    waiting, backing = sorted(rows, key=lambda row: row.state)
    host = f"127.0.0.1:{target.port}"
    named = f"The circuit of this address of the host {host} is"
    assert reason(waiting.id).startswith(f"{named} open until ")
    texts = [finding.text for finding in inspect.why(backing.id)]
    assert any("The callback backs off until " in text and "attempt 1 of 10, answer 503." in text for text in texts)
    end(target.url("/hook"))
    assert f"{named} half open: the next callback is sent as a probe." in [
        finding.text for finding in inspect.why(waiting.id)
    ]
