"""A wait that ends without a result says what the store knows about the task."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from queueops import ResultTimeout, chain
from queueops.inspect import why
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from tests.inspecting.errors import stored
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support import tasks_for_tests as tasks

ROOT = Path(__file__).parents[2]

NAME = tasks.add.name


@pytest.fixture(autouse=True)
def closed():
    yield
    waiting.close()


def told(handle: TaskHandle, seconds: float = 0.01) -> str:
    with pytest.raises(ResultTimeout) as caught:
        handle.result(timeout=seconds)
    return str(caught.value)


def test_it_says_that_no_worker_serves_the_pool(desk: Desk) -> None:
    handle = tasks.add.push(1)
    assert told(handle) == (
        f"The task {handle.id} did not end within 0.01 s; it is pending."
        " No live worker serves the pool default; start `manage.py runworker --pool default`."
    )


def test_async_code_is_told_the_same(desk: Desk) -> None:
    handle = tasks.add.push(1)
    with pytest.raises(ResultTimeout, match="No live worker serves the pool default"):
        asyncio.run(handle.aresult(timeout=0.01))


def test_it_says_what_else_holds_a_task_up(desk: Desk) -> None:
    beat(desk, names=NAME)
    handle = tasks.add.using(lane="bulk").push(1)
    assert told(handle).endswith("it is pending. The task has not ended; ask again later.")
    desk.broker.lane("default", "bulk", paused=1)
    assert told(handle).endswith("it is pending. Its lane bulk is paused.")
    assert "it is postponed. The task is postponed: due in " in told(tasks.add.postpone(3600, 1))
    beat(desk, names="other")
    assert f"it is pending. No live worker knows the task {NAME}. Deploy its code" in told(tasks.add.push(1))


def test_it_says_that_a_task_runs_or_backs_off(desk: Desk) -> None:
    beat(desk, "w1", names=NAME)
    handle = tasks.add.push(1)
    lease = desk.lease()
    assert "; it is locked. The task has run for " in told(handle)
    desk.settle(lease, Outcome.ERROR, delay_ms=60_000, **stored(message="boom"))
    message = told(handle)
    assert "; it is restart. The task waits for its next attempt: attempt 1 of 3 failed; the next one starts" in message
    assert message.endswith(" s. ValueError: boom"), "the error of the attempt"


def test_it_says_the_state_of_the_same_moment(desk: Desk, monkeypatch) -> None:
    """What is waited for tells only of its end: the state that was read first may be ten seconds old."""
    beat(desk, "w1", names=NAME)
    handle = tasks.add.push(1)
    explain = waiting.explain
    assert explain is not None

    def once_it_runs(pool: str, task_id: str) -> tuple[str, str]:
        desk.lease()
        return explain(pool, task_id)

    monkeypatch.setattr(waiting, "explain", once_it_runs)
    assert "; it is locked. The task has run for " in told(handle)


def test_it_says_that_no_worker_knows_the_name_of_a_task_that_was_put_off(desk: Desk) -> None:
    beat(desk, "w1", names="other")
    handle = tasks.add.push(1)
    desk.settle(desk.lease(), Outcome.UNKNOWN, delay_ms=60_000)
    assert f"; it is postponed. No live worker knows the task {NAME}" in told(handle)
    verbs = [finding.verb for finding in why(handle.id) if not finding.ok]
    assert "run_now" not in verbs, "it would be put off again"
    beat(desk, "w1", names=NAME)
    assert "; it is postponed. The task is postponed: due in " in told(handle)


def test_it_says_for_which_parts_a_chain_waits(desk: Desk) -> None:
    assert "; it is idle. The task waits for its " in told(chain(tasks.add.s(1), tasks.add.s(2)).push())


def test_it_costs_a_bounded_number_of_calls_and_none_for_a_mere_look(desk: Desk) -> None:
    client = get_broker().client
    tasks.add.push_many([(1,)] * 1_000)
    handle = tasks.add.push(1)
    told(handle)  # the scripts are loaded, and the channel is heard

    def calls(seconds: float) -> int:
        before = client.info("stats")["total_commands_processed"]
        told(handle, seconds)
        return int(client.info("stats")["total_commands_processed"]) - before

    look = calls(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "explain", lambda pool, id: ("", ""))
        plain = calls(0.01)
    assert look <= plain
    extra = calls(0.01) - plain
    assert extra <= 60


def test_what_goes_wrong_there_is_no_other_error(desk: Desk, monkeypatch, caplog) -> None:
    def broken(pool: str, task_id: str) -> tuple[str, str]:
        raise RuntimeError("the explanation failed")

    monkeypatch.setattr(waiting, "explain", broken)
    handle = tasks.add.push(1)
    caplog.set_level("DEBUG", "queueops")
    assert told(handle).endswith("it is pending. The task has not ended; ask again later.")
    with pytest.raises(ResultTimeout, match="ask again later"):
        asyncio.run(handle.aresult(timeout=0.01))
    assert "the explanation failed" in caplog.text


def test_nothing_of_it_is_imported_before_it_is_needed() -> None:
    code = """
import sys, django
from django.conf import settings
settings.configure(INSTALLED_APPS=["queueops"])
django.setup()
print("queueops.inspect.why" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout.strip() == "False", ran.stderr
