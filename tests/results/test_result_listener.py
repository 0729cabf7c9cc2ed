"""The thread that receives the messages for all waits of a process, and its end."""

from __future__ import annotations

import threading

import pytest

from queueops import conf
from queueops.errors import ResultTimeout
from queueops.redis.broker import get_broker
from queueops.results import result_listener, waiting
from tests.support import tasks_for_tests as tasks
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def closed():
    yield
    waiting.close()


def test_the_thread_ends_when_nobody_waits(namespace, later, monkeypatch):
    monkeypatch.setattr(result_listener, "IDLE", 0.1)
    handle = tasks.add.push(1)
    later()
    handle.result(60)
    wait_until(lambda: "queueops-waiting" not in [thread.name for thread in threading.enumerate()])
    handle = tasks.add.push(2)
    later()
    assert handle.result(60) == 3


def test_without_a_wait_the_thread_ends_with_its_connection(namespace, redis_client, later, monkeypatch):
    monkeypatch.setattr(result_listener, "IDLE", 60.0)
    handle = tasks.add.push(1)
    worker = later()
    assert handle.result(60) == 2
    worker.join()  # its connection is a normal one too
    threads = [thread.name for thread in threading.enumerate()]
    assert "queueops-waiting" in threads
    for kind in ("pubsub", "normal"):  # to connect again would start an embedded server that was stopped
        redis_client.client_kill_filter(_type=kind)
    wait_until(lambda: "queueops-waiting" not in [thread.name for thread in threading.enumerate()])
    handle = tasks.add.push(2)
    later()
    assert handle.result(60) == 3


def test_waits_in_two_stores_keep_one_thread_each(namespace, settings):
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": {"eu": {"NAMESPACE": f"{namespace}-eu"}}}
    before = threading.enumerate()  # tests of other folders may have left threads
    for store in ("", "eu", "", "eu"):
        with conf.in_store(store), pytest.raises(ResultTimeout):
            tasks.add.push(1).result(0.1)
    begun = [thread.name for thread in threading.enumerate() if thread not in before]
    assert begun.count("queueops-waiting") == 2


class Ringing(result_listener.ResultListener):
    """Counts how often it wakes its thread."""

    rings = 0

    def _ring(self) -> None:
        self.rings += 1
        super()._ring()


def test_the_end_of_a_wait_whose_message_came_does_not_wake_the_thread(namespace, redis_client):
    listener = Ringing(get_broker())

    def listening() -> list[bytes]:
        return [channel for channel in redis_client.pubsub_channels() if channel in (b"heard", b"given-up")]

    try:
        heard = listener.listen("heard")
        assert heard.subscribed.result(60)
        redis_client.publish("heard", "succeeded")
        assert heard.news.result(60)
        before = listener.rings
        listener.forget(heard)
        assert listener.rings == before
        given_up = listener.listen("given-up")  # the thread leaves the first channel when it wakes for this one
        assert given_up.subscribed.result(60)
        wait_until(lambda: listening() == [b"given-up"])
        before = listener.rings
        listener.forget(given_up)
        assert listener.rings == before + 1
        wait_until(lambda: listening() == [])
    finally:
        listener.close()
