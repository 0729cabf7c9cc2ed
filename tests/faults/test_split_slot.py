"""The source of a move dies, and its replica takes over: Redis 7.0 leaves the keys that had moved on the target."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queueops import inspect
from queueops.errors import BrokerUnavailable
from queueops.inspect import Alarm
from queueops.redis import split_slots
from queueops.redis.broker import close_brokers
from queueops.results import waiting
from tests.faults import tasks
from tests.faults.conftest import Bench, use
from tests.support import topology
from tests.support.waiting import wait_until

PROGRAM = shutil.which("redis-server")
pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(PROGRAM is None and not os.environ.get("CI"), reason="there is no redis-server; install it"),
]
SHORT = (f"cluster-node-timeout {topology.TIMEOUT_MS}", "cluster-require-full-coverage no")


@pytest.fixture
def nodes(
    bench: Bench, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[topology.Node]]:
    """Redis 7.0: a replica of Valkey 9 knows of the move, and goes on with it."""
    monkeypatch.setattr(topology, "find_server", lambda directory: PROGRAM)
    with topology.cluster(tmp_path, *SHORT) as (url, nodes):
        use(bench, settings, url)
        yield nodes
        bench.finish()
        waiting.close()
        close_brokers()


def test_keys_that_a_failover_left_on_another_server_are_told_with_their_number(
    bench: Bench, nodes: list[topology.Node], tmp_path: Path
) -> None:
    slot = topology.slot_of(bench.broker.keys("default").prefix)
    source = next(node for node in nodes if topology.has_slot(node, slot))
    with topology.replica_of(tmp_path / "replica", source, *SHORT) as replica:
        bench.finished = True  # the pool is not whole at the end
        bench.watchdog()
        tasks.work.push_many([()] * 30)
        wait_until(lambda: not inspect.snapshot().computed, 60, bench.say)
        before = source.client.cluster("GETKEYSINSLOT", slot, 1000)
        forever = {key for key in before if source.client.ttl(key) == -1}
        _, target = topology.begin_move(slot, nodes, 0.5)
        moved = target.client.cluster("GETKEYSINSLOT", slot, 1000)
        assert source.client.wait(1, 10_000) == 1
        assert bench.broker.stranded("default") == (0, "")  # the move goes on
        source.kill()
        (found,) = wait_until(lost, 120, bench.say)
        where = f"127.0.0.1:{target.port}"
        told = re.search(f"([0-9]+) of its keys are on the server {where}, but another server took over", found.text)
        assert told
        assert 15 <= len(forever.intersection(moved)) <= int(told[1]) <= len(moved)
        assert found.command == f"redis-cli --cluster fix {where}"
        assert topology.has_slot(replica, slot)
        bench.finish()
        waiting.close()
        close_brokers()


def test_keys_are_counted_where_the_slot_is_a_range_of_its_own(tmp_path: Path) -> None:
    """As a server tells it that has got this slot alone, and not its neighbours."""
    key = "alone"
    slot = topology.slot_of(key)
    owner, other = (topology.Node(tmp_path / name, *topology.CLUSTER, *SHORT[1:]) for name in ("owner", "other"))
    with topology.ended(owner, other):
        other.client.execute_command("CLUSTER ADDSLOTS", slot)
        wait_until(lambda: is_set(other, key), 60)
        other.client.execute_command("CLUSTER DELSLOTS", slot)
        owner.client.execute_command("CLUSTER ADDSLOTS", slot)
        owner.client.execute_command("CLUSTER MEET", topology.HOST, other.port, other._bus)
        wait_until(lambda: owner.client.cluster("INFO")["cluster_known_nodes"] == "2", 60)

        def counted() -> tuple[int, str]:
            return split_slots.stranded(owner.client, slot, lambda host, port: redis.Redis(host, port, protocol=2))

        assert wait_until(lambda: counted()[0] and counted(), 60) == (1, f"127.0.0.1:{other.port}")


def is_set(node: topology.Node, key: str) -> bool:
    """Whether a key is there now; a server that has just got its slot may still refuse it."""
    try:
        return bool(node.client.set(key, "x"))
    except redis.RedisError:
        return False


def lost() -> list[Alarm]:
    """The alarms of lost data; none while the store cannot be read."""
    try:
        return [alarm for alarm in inspect.snapshot().alarms if "lost data" in alarm.text]
    except BrokerUnavailable:
        return []
