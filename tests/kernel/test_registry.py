"""The list of pools, and its copies on a cluster."""

from __future__ import annotations

import logging
import time
from io import StringIO
from pathlib import Path

import pytest
import redis
from django.core.management import call_command

from queueops.conf import Settings
from queueops.redis import pool_registry
from queueops.redis.broker import RedisBroker, get_broker
from queueops.redis.keys import flushed, pools
from queueops.redis.store_client import COPIES
from queueops.watchdog import Watchdog
from tests.kernel.desk import Desk
from tests.support import topology
from tests.support.for_each import for_each
from tests.support.waiting import wait_until


@for_each("namespace", ["queueops", "shop", "a.b_c-d", "t1"])
def test_the_copies_are_far_from_each_other_among_the_slots(namespace: str) -> None:
    parts = [topology.slot_of(key) * COPIES // topology.SLOTS for key in pools(namespace, COPIES)]
    assert sorted(parts) == list(range(COPIES))
    assert pools(namespace) == (f"{{{namespace}}}:pools",)


@pytest.mark.cluster
def test_each_server_of_a_cluster_of_three_can_tell_which_pools_there_are(cluster: str, tmp_path: Path) -> None:
    broker = RedisBroker(Settings(url=cluster, namespace=tmp_path.name))
    broker.announce("north")
    asked = [broker.servers.client(key) for key in broker.registry.keys]
    assert len(set(asked)) == COPIES
    for client, key in zip(asked, broker.registry.keys, strict=True):
        wait_until(lambda client=client, key=key: client.smembers(key) == {b"north"})
        client.delete(key)
    broker.close()


def test_a_list_of_pools_that_was_deleted_has_again_the_pools_in_use(
    namespace: str, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    (key,) = pools(namespace)
    desk = Desk(get_broker(), "north")
    desk.push("a")
    assert redis_client.delete(key) == 1
    desk.push("b")
    assert redis_client.exists(key) == 0, "a push does not list its pool each time"
    later = time.monotonic() + pool_registry.ANNOUNCED_S
    monkeypatch.setattr(pool_registry.time, "monotonic", lambda: later)
    desk.broker.beat("north", "w1", {})
    assert redis_client.smembers(key) == {b"north"}


def question(*words: str) -> str:
    """What a command prints, whatever its status."""
    out = StringIO()
    try:
        call_command("queue", *words, stdout=out, stderr=StringIO())
    except SystemExit:
        return out.getvalue()
    return out.getvalue()


def test_a_list_of_pools_of_another_type_stops_nothing_and_is_named(
    namespace: str, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    (key,) = pools(namespace)
    redis_client.set(key, "x")
    desk = Desk(get_broker(), "north")
    with caplog.at_level(logging.WARNING):
        desk.push("a")
        desk.broker.beat("north", "w1", {})
        desk.settle(desk.lease())
        watchdog = Watchdog(desk.broker, period_s=0.001)
        assert {"default", "north"} <= watchdog.round().keys()
        watchdog.stop()
        watchdog.run()
    told = [record.getMessage() for record in caplog.records]
    assert len([line for line in told if key in line]) == 1, told
    fault = f"{key} is a string, not a set"
    assert fault in question("status")
    assert fault in question("fsck")
    assert fault in question("fsck", "--pool", "north", "--json")
    assert desk.state("a") == "succeeded"
    assert redis_client.get(key) == b"x"
    redis_client.delete(key)
    desk.push("b")
    assert redis_client.smembers(key) == {b"north"}
    assert desk.broker.registry.broken == ()
    assert fault not in question("fsck")


def test_a_mark_of_a_flushed_pool_of_another_type_stops_nothing(namespace: str, redis_client: redis.Redis) -> None:
    key, desk = flushed(namespace, "north"), Desk(get_broker(), "north")
    desk.push("a")
    watchdog = Watchdog(desk.broker, period_s=0.001)
    watchdog.round()
    redis_client.lpush(key, "x")
    redis_client.delete(desk.keys.seq, desk.keys.sampler)
    assert "error" not in watchdog.round()["north"]
    assert list(desk.broker.flush_pool("north"))
    assert redis_client.type(key) == b"string"
    watchdog.stop()
    watchdog.run()
