"""What a process keeps of the servers of a cluster, and of a tail that follows them."""

from __future__ import annotations

import queue
import threading

import pytest
import redis

from queueops.redis import servers
from queueops.redis.broker import RedisBroker, get_broker
from queueops.redis.events import Tail
from queueops.redis.servers import Address, Cluster
from tests.support.places import CLUSTER
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.usefixtures("namespace"),
    pytest.mark.cluster,
    pytest.mark.parametrize("place", [CLUSTER], indirect=True),
]


def test_the_client_of_a_server_that_left_the_map_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "FRESH_S", 0.0)
    key, cluster = get_broker().keys("default").seq, get_broker().servers
    assert isinstance(cluster, Cluster)
    cluster.client(key).ping()
    left = Address("127.0.0.1", 1)
    cluster._client(left)
    cluster.failed(key, redis.ConnectionError("a server went away"))
    assert left not in cluster._clients
    assert cluster.name(key) in map(str, cluster._clients)
    cluster.client(key).ping()


def test_a_closed_broker_leaves_no_connection_to_a_server() -> None:
    broker = RedisBroker(get_broker().settings)
    node = broker.client.get_default_node()
    own = str(node.redis_connection.client_id())
    broker.close()
    with redis.Redis(host=node.host, port=node.port) as other:
        wait_until(lambda: own not in {client["id"] for client in other.client_list()})


def test_a_tail_that_is_closed_ends_a_thread_whose_event_was_not_taken() -> None:
    broker = get_broker()
    tail = Tail(broker, ["default"])
    full: queue.Queue[tuple[str, bytes]] = queue.Queue(1)
    tail._put(("default", b"first"), full)
    thread = threading.Thread(target=tail._put, args=(("default", b"second"), full))
    thread.start()
    tail.close()
    thread.join(60)
    assert not thread.is_alive()
    assert full.qsize() == 1
