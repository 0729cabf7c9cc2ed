"""Where a test runs: on one server, or on a real cluster of three; what goes over pools runs on both."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from redis.cluster import RedisCluster

from queueops.redis.keys import Keys

SERVER, CLUSTER = "server", "cluster"
ON_BOTH = (
    "tests.composites",
    "tests.schedules",
    "tests.console.test_commands",
    "tests.console.test_composites",
    "tests.console.test_schedules",
    "tests.console.test_trees",
    "tests.faults.test_composites",
    "tests.faults.test_kills",
    "tests.faults.test_pools",
    "tests.inspecting.test_commands",
    "tests.inspecting.test_queue_tree",
    "tests.inspecting.test_trees",
    "tests.kernel.test_push_under_lease",
)
"""Packages and modules of composites, commands and schedules: whatever of it asks for a store runs on both."""

APART = ("default", "north", "south")
"""The pools of those tests: on a cluster each is on a server of its own."""


def is_for_both(metafunc: pytest.Metafunc) -> bool:
    """Whether a test runs on the server and on the cluster."""
    name = metafunc.module.__name__
    is_listed = any(name == listed or name.startswith(f"{listed}.") for listed in ON_BOTH)
    return is_listed and "redis_url" in metafunc.fixturenames


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Let a test run on both; `-m cluster` chooses those on the cluster."""
    places = [SERVER, pytest.param(CLUSTER, marks=pytest.mark.cluster)]
    metafunc.parametrize("place", places, indirect=True)


def free_namespace(client: Any) -> str:
    """A new name; on a cluster one with which the pools that the tests use are on different servers."""
    while True:
        name = f"t{uuid.uuid4().hex[:12]}"
        if not isinstance(client, RedisCluster):
            return name
        servers = {client.get_node_from_key(Keys(name, pool).seq) for pool in APART}
        if len(servers) == len(APART):
            return name
