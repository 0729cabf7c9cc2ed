"""A store that says nothing, or what no Redis says: its workers and watchdogs end when they are told to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.conftest import Bench
from tests.support.silence import HTTP, Listener
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    listener = Listener(request.param)
    yield listener
    listener.close()


@pytest.mark.parametrize("command", ["runworker", "watchdog"])
@pytest.mark.parametrize("listener", [b"", HTTP], indirect=True, ids=["silent", "no Redis"])
def test_a_process_without_a_store_ends_when_it_is_told_to(bench: Bench, listener: Listener, command: str) -> None:
    bench.settings["URL"] = listener.url
    process = bench.worker() if command == "runworker" else bench.watchdog()
    wait_until(lambda: len(listener.taken), say=process.text)
    assert process.stop() == 0
    assert "Traceback" not in process.text()
