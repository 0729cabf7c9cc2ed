"""A server without functions gets scripts, and watchdog and snapshot work there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops import inspect
from queueops.redis import embedded
from queueops.redis.broker import RedisBroker, close_brokers, get_broker
from queueops.watchdog.watchdog import Watchdog
from tests.kernel.desk import Desk
from tests.support.functions import NO_FUNCTIONS


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


def test_a_task_is_run_and_the_watchdog_makes_its_round(bare_broker: RedisBroker) -> None:
    desk = Desk(bare_broker)
    desk.push("a")
    assert Watchdog(bare_broker).round() == {"default": {}}
    assert desk.settle(desk.lease()) == "OK"
    assert bare_broker.other_libraries("default") == {}
