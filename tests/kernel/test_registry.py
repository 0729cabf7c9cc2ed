"""The list of pools, and its copies on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from queueops.conf import Settings
from queueops.redis.broker import RedisBroker
from queueops.redis.keys import pools
from queueops.redis.registry import COPIES
from tests import topology
from tests.waiting import wait_until


@pytest.mark.parametrize("namespace", ["queueops", "shop", "a.b_c-d", "t1"])
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
