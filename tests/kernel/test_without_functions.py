"""A server without functions gets scripts, and watchdog and snapshot work there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ResponseError

from queueops import inspect
from queueops.redis import embedded
from queueops.redis.broker import RedisBroker, close_brokers, get_broker
from queueops.redis.scripts import Scripts
from queueops.watchdog.watchdog import Watchdog
from tests.kernel.desk import Desk
from tests.support.servers import NO_FUNCTIONS


@pytest.fixture
def bare_broker(empty_directory: Path, settings: Any) -> Iterator[RedisBroker]:
    """The broker of a server that knows neither FCALL nor FUNCTION."""
    server = embedded.start(empty_directory, options={"appendfsync": "no"} | NO_FUNCTIONS)
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": server.url, "NAMESPACE": "bare"}
    yield get_broker()
    close_brokers()


def test_the_first_call_of_a_process_may_be_the_snapshot(bare_broker: RedisBroker) -> None:
    Desk(bare_broker).push("a")
    close_brokers()
    assert [pool.name for pool in inspect.snapshot().pools] == ["default"]


def test_a_process_says_once_in_a_sentence_that_the_store_has_none(
    bare_broker: RedisBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Scripts, "has_warned", False)
    for _ in range(3):
        Desk(get_broker()).push("a")
        inspect.snapshot()
        close_brokers()
    (said,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert said == (
        "The store has no functions, or permits none: QueueOps sends scripts, which is slower"
        " (queueops.W111 of `manage.py check --deploy`)."
    )


def test_a_thread_that_meets_an_older_server_beside_another_one_goes_on(bare_broker: RedisBroker) -> None:
    """Both send a script with flags first. The server refuses that; the other thread knows it by then."""
    scripts = Scripts(bare_broker.scripts._servers)
    seen: list[bool] = []

    def execute(_eval: str, text: str, *_: object) -> str:
        seen.append(text.startswith("#!lua"))
        if seen[-1]:
            scripts._shebang = False
            raise ResponseError("Error compiling script (new function): user_script:1: unexpected symbol near '#'")
        return "OK"

    assert scripts._evaluate("tick", ("prefix",), execute) == "OK"
    assert seen == [True, False]


def test_a_task_is_run_and_the_watchdog_makes_its_round(bare_broker: RedisBroker) -> None:
    desk = Desk(bare_broker)
    desk.push("a")
    assert Watchdog(bare_broker).round() == {"default": {}}
    assert desk.settle(desk.lease()) == "OK"
    assert bare_broker.other_libraries("default") == {}
