"""A store that says nothing, or what no Redis says, is an error of our own, and soon."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import queueops
from queueops import inspect
from queueops.errors import BrokerUnavailable
from queueops.redis import call_limits
from queueops.redis.broker import close_brokers, get_broker
from queueops.results.handle import TaskHandle
from tests.support.silence import HTTP, Listener
from tests.support.tasks_for_tests import add


@pytest.fixture
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    listener = Listener(getattr(request, "param", b""))
    yield listener
    close_brokers()
    listener.close()


def test_a_silent_store_is_an_error_soon(namespace: str, listener: Listener, settings: Any) -> None:
    own = {"CONNECT": {"socket_timeout": 0.2}, "RETRY": {"attempts": 100, "budget": 0.1}, "URL": listener.url}
    settings.QUEUEOPS = settings.QUEUEOPS | own
    for call in (lambda: add.push(1), lambda: queueops.get("x"), inspect.snapshot):
        with pytest.raises(BrokerUnavailable, match="attempts: 1"):
            call()


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_who_waits_for_a_result_meets_a_silent_store_within_that_time(
    namespace: str, listener: Listener, settings: Any, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """Without an end of its own the wait would last as long as a call may take: for ever here."""
    never = {"socket_timeout": 86_400, "socket_connect_timeout": 86_400}
    own = {"CONNECT": never, "URL": listener.url.replace("redis", scheme)}
    settings.QUEUEOPS = settings.QUEUEOPS | own
    monkeypatch.setattr(call_limits, "LEAST_S", 0.2)
    with pytest.raises(BrokerUnavailable):
        TaskHandle("x").result(timeout=0.1)
    with pytest.raises(BrokerUnavailable):
        asyncio.run(TaskHandle("x").aresult(timeout=0.1))


def test_a_page_does_not_wait_as_long_as_a_push(namespace: str) -> None:
    patient, hasty = get_broker(), get_broker().hasty()
    for broker, seconds in ((patient, 10.0), (hasty, 2.5)):
        assert broker.client.connection_pool.connection_kwargs["socket_timeout"] == seconds
        assert broker.settings.retry.budget == seconds
    assert hasty is patient.hasty()


@pytest.mark.parametrize("listener", [HTTP], indirect=True)
def test_what_is_no_redis_is_a_store_that_cannot_be_reached(namespace: str, listener: Listener, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": listener.url}
    for call in (lambda: add.push(1), lambda: queueops.get("x"), inspect.snapshot):
        with pytest.raises(BrokerUnavailable):
            call()


def test_a_database_that_the_server_does_not_have_is_told(namespace: str, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": f"{settings.QUEUEOPS['URL']}?db=99"}
    with pytest.raises(BrokerUnavailable, match="DB index is out of range"):
        add.push(1)
    close_brokers()
