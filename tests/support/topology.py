"""A cluster of three servers, and a primary with a replica and its sentinel: on ports that are free on this machine."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import redis
from redis.crc import key_slot

from queueops.redis.embedded.program import find_server
from tests.support.waiting import stands_still, wait_until

HOST, NAME, SLOTS = "127.0.0.1", "primary", 16384
TIMEOUT_MS = 2000
"""After so long a server that does not answer counts as down."""

CLUSTER = (
    "cluster-enabled yes",
    "appendonly yes",
    f"cluster-node-timeout {5 * TIMEOUT_MS}",
    "cluster-allow-replica-migration no",
)


class Node:
    """One server, or sentinel, that ends with the test."""

    def __init__(self, directory: Path, *options: str, program: str = "") -> None:
        directory.mkdir()
        self._directory = directory
        self._program = program or find_server(directory)
        self._start(options)
        wait_until(lambda: self._is_there(options), 60)

    def _start(self, options: Sequence[str]) -> None:
        self.port, self._bus = free_ports(2)
        directory = self._directory
        config = directory / "server.conf"
        lines = [f"port {self.port}", f"bind {HOST}", f"dir {directory}", "save ''", *options]
        if "cluster-enabled yes" in options:
            lines.append(f"cluster-port {self._bus}")
        config.write_text("\n".join(lines) + "\n")
        mode = ["--sentinel"] if any(line.startswith("sentinel ") for line in options) else []
        self._log = directory / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([self._program, str(config), *mode], stdout=log, stderr=log)
        self.client = redis.Redis(HOST, self.port, protocol=2, retry=None)

    def _is_there(self, options: Sequence[str]) -> bool:
        """Whether it answers. Where another process has taken one of its ports meanwhile, it starts on other ports."""
        if self._process.poll() is not None:
            words = self._log.read_text()
            assert "Failed listening" in words, words
            self._start(options)
        return self.answers() and self.client.info("server")["process_id"] == self._process.pid

    def answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process during the block: callers get no answer, and the connections stay."""
        self._process.send_signal(signal.SIGSTOP)
        threads = Path(f"/proc/{self._process.pid}/task")
        wait_until(lambda: all(stands_still(thread) for thread in threads.iterdir()))
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """It is gone at once."""
        self._process.kill()
        self._process.wait(60)

    def end(self) -> None:
        self.client.close()
        if self._process.poll() is None:
            self.kill()


def free_ports(count: int) -> list[int]:
    """Ports that no process uses now, and that no outgoing connection is given meanwhile."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            port = random.SystemRandom().randrange(20_000, 32_000)  # tests that run beside each other may share a seed
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server((HOST, port)))
                found.append(port)
    return found


@contextlib.contextmanager
def ended(*nodes: Node) -> Iterator[None]:
    """The nodes end at the end."""
    try:
        yield
    finally:
        for node in nodes:
            node.end()


@contextlib.contextmanager
def cluster(directory: Path, *more: str) -> Iterator[tuple[str, list[Node]]]:
    """Three primaries that share the slots, with more options: their URL."""
    nodes = [Node(directory / f"node{number}", *CLUSTER, *more) for number in range(3)]
    with ended(*nodes):
        for number, node in enumerate(nodes):
            first, last = number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1
            node.client.execute_command("CLUSTER ADDSLOTSRANGE", first, last)
            node.client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        for node in nodes[1:]:
            node.client.execute_command("CLUSTER MEET", HOST, nodes[0].port, nodes[0]._bus)
        wait_until(lambda: all(_is_whole(node) for node in nodes), 60)
        yield f"redis+cluster://{','.join(f'{HOST}:{node.port}' for node in nodes)}", nodes


@contextlib.contextmanager
def replica_of(directory: Path, node: Node, *more: str) -> Iterator[Node]:
    """A replica of a cluster's primary, which takes over when that one does not answer."""
    replica = Node(directory, *CLUSTER, "repl-diskless-sync-delay 0", *more)
    with ended(replica):
        id = node.client.cluster("MYID")
        replica.client.execute_command("CLUSTER MEET", HOST, node.port, node._bus)
        wait_until(lambda: id.decode() in str(replica.client.cluster("NODES")), 60)
        replica.client.execute_command("CLUSTER REPLICATE", id)
        wait_until(lambda: replica.client.info("replication").get("master_link_status") == "up", 60)
        yield replica


def _is_whole(node: Node) -> bool:
    """Whether the node knows the others and who has each slot; without full coverage its state is ok before that."""
    info = node.client.cluster("INFO")
    told = (info["cluster_state"], info["cluster_known_nodes"], info["cluster_slots_assigned"])
    return told == ("ok", "3", f"{SLOTS}")


def slot_of(key: str) -> int:
    """The slot of a key."""
    return int(key_slot(key.encode()))


@contextlib.contextmanager
def moving(slot: int, nodes: list[Node], share: float = 0.5) -> Iterator[None]:
    """The slot goes to another server: this share of its keys is there while the body runs, and the rest after it."""
    source, target = begin_move(slot, nodes, share)
    try:
        yield
    finally:
        _migrate(source, target, source.client.cluster("GETKEYSINSLOT", slot, 10_000))
        id = target.client.cluster("MYID")
        for node in (target, source, *nodes):
            node.client.execute_command("CLUSTER SETSLOT", slot, "NODE", id)


def begin_move(slot: int, nodes: list[Node], share: float) -> tuple[Node, Node]:
    """Move this share of a slot's keys to another server: from which one, and to which."""
    source = next(node for node in nodes if has_slot(node, slot))
    target = next(node for node in nodes if node is not source)
    ids = {node: node.client.cluster("MYID") for node in (source, target)}
    target.client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[source])
    source.client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[target])
    keys = source.client.cluster("GETKEYSINSLOT", slot, 10_000)
    _migrate(source, target, keys[: round(len(keys) * share)])
    return source, target


@contextlib.contextmanager
def unassigned(slot: int, nodes: list[Node]) -> Iterator[None]:
    """No server has the slot while the body runs; after it the server has it again whose keys are in it."""
    owner = next(node for node in nodes if has_slot(node, slot))
    for node in nodes:
        node.client.execute_command("CLUSTER DELSLOTS", slot)
    try:
        yield
    finally:
        owner.client.execute_command("CLUSTER ADDSLOTS", slot)
        wait_until(lambda: all(_is_whole(node) for node in nodes), 60)


def has_slot(node: Node, slot: int) -> bool:
    """Whether the node says of itself that it has the slot."""
    rows = node.client.execute_command("CLUSTER SLOTS")
    return any(int(first) <= slot <= int(last) and int(server[1]) == node.port for first, last, server, *_ in rows)


def _migrate(source: Node, target: Node, keys: list[Any]) -> None:
    if keys:
        source.client.migrate(HOST, target.port, keys, 0, 5000)


@contextlib.contextmanager
def sentinel(directory: Path) -> Iterator[tuple[str, Node, Node]]:
    """A primary, its replica, and a sentinel that decides alone: their URL."""
    primary = Node(directory / "primary", "appendonly yes", "repl-diskless-sync-delay 0")
    replica = Node(directory / "replica", "appendonly yes", f"replicaof {HOST} {primary.port}")
    with ended(primary, replica):
        wait_until(lambda: replica.client.info("replication")["master_link_status"] == "up", 60)
        watcher = Node(
            directory / "sentinel",
            f"sentinel monitor {NAME} {HOST} {primary.port} 1",
            f"sentinel down-after-milliseconds {NAME} {TIMEOUT_MS}",
            f"sentinel failover-timeout {NAME} 5000",
        )
        with ended(watcher):
            wait_until(lambda: watcher.client.sentinel_masters()[NAME]["num-slaves"] == 1, 60)
            yield f"redis+sentinel://{HOST}:{watcher.port}/{NAME}", primary, replica
