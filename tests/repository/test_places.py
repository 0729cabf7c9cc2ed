"""What runs on one server and on a cluster is really there, and the cluster's pools are really apart."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from queueops.redis.client_factory import connect
from queueops.redis.keys import Keys
from tests.support.for_each import for_each
from tests.support.places import APART, ON_BOTH, free_namespace


@for_each("name", ON_BOTH)
def test_what_is_to_run_on_both_is_a_module_of_the_tests(name: str) -> None:
    assert find_spec(name) is not None


@pytest.mark.cluster
def test_on_the_cluster_each_pool_is_on_a_server_of_its_own(cluster: str) -> None:
    with connect(cluster) as client:
        name = free_namespace(client)
        found = {client.get_node_from_key(Keys(name, pool).seq).port for pool in APART}  # type: ignore[attr-defined]
        assert len(found) == 3
        assert all(client.set(Keys(name, pool).seq, 1, ex=1) for pool in APART)
