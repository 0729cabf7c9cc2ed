"""Watchful connections: all connections of a client know what one has found about a silent server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis

from queueops.redis.connections import own_connection
from queueops.redis.watchful import watch
from tests.support import topology


def ping(connection: Any) -> Any:
    connection.send_command("PING")
    return connection.read_response()


def test_no_connection_waits_for_a_server_that_another_one_has_found_replaced(tmp_path: Path) -> None:
    asked: list[int] = []

    def is_replaced(host: str, port: int) -> bool:
        asked.append(port)
        return True

    node = topology.Node(tmp_path / "node")
    with topology.ended(node), watch(redis.Redis(topology.HOST, node.port, protocol=2), is_replaced) as client:
        connections = [own_connection(client) for _ in range(3)]
        for connection in connections:
            connection.connect()
            assert ping(connection) == b"PONG"
        with node.frozen():
            for connection in connections:
                with pytest.raises(redis.ConnectionError, match="is not the primary any more"):
                    ping(connection)
        assert asked == [node.port]
        for connection in connections:  # it is the primary again
            connection.connect()
            assert ping(connection) == b"PONG"
            connection.disconnect()
