"""Servers of a store: which server holds a pool, and a client of redis-py for each of them.

Each pool is one slot of a cluster, so each call goes to one server. A call never waits for a server that it does not go
to: this is why redis-py's own cluster client is not used, which asks all servers in turn when one does not answer.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AuthenticationError, ClusterDownError, MovedError, RedisError

ASK_S = 2.0
"""Seconds that a server has to tell the slots."""
ASKED_AT_ONCE = 5
FRESH_S = 0.25
"""A map that is not older than this is not read again."""

logger = logging.getLogger("queueops.redis")


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class OneServer:
    """One server, or the primary that sentinels name: it holds every pool."""

    is_cluster = False

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def client(self, key: str) -> redis.Redis:
        """The client for a key."""
        return self._client

    def name(self, key: str) -> str:
        """The name of the server that holds a key; here it is empty."""
        return ""

    def clients(self) -> dict[str, redis.Redis]:
        """The client of each server, by name."""
        return {"": self._client}

    def failed(self, key: str, error: Exception) -> None:
        """A call for a key failed: nothing is known to have moved."""

    def close(self) -> None:
        """Hang up."""
        self._client.close()


class Cluster:
    """The primaries of a cluster. Safe for threads.

    The map of slots is read at the first call. It is read again when a server does not answer or is down, and a slot
    that has moved is noted.
    """

    is_cluster = True

    def __init__(self, hosts: Sequence[tuple[str, int]], options: Mapping[str, Any]) -> None:
        """``hosts`` are asked for the map of slots; ``options`` are those of redis-py's clients."""
        self._hosts = [Address(*host) for host in hosts]
        self._options = options
        self._clients: dict[Address, redis.Redis] = {}
        self._slots: list[Address | None] = []
        self._read_at = 0.0
        self._lock = threading.Lock()

    def client(self, key: str) -> redis.Redis:
        """The client for a key. Raises redis' errors when no server tells the slots, or none has this one."""
        return self._client(self._address(key))

    def name(self, key: str) -> str:
        """The name of the server that holds a key."""
        return str(self._address(key))

    def clients(self) -> dict[str, redis.Redis]:
        """The client of each primary, by name."""
        self._read()
        return {str(address): self._client(address) for address in dict.fromkeys(self._slots) if address is not None}

    def failed(self, key: str, error: Exception) -> None:
        """A call for a key failed: another server may have its slot now."""
        if isinstance(error, MovedError):
            self._move(key, error)
        elif isinstance(error, ClusterDownError) or not isinstance(error, redis.ResponseError):
            self._read(again=True)

    def close(self) -> None:
        """Hang up."""
        for client in list(self._clients.values()):
            client.close()

    def _client(self, address: Address) -> redis.Redis:
        client = self._clients.get(address)
        if client is None:
            made = redis.Redis(host=address.host, port=address.port, **self._options)
            client = self._clients.setdefault(address, made)
        return client

    def _address(self, key: str) -> Address:
        self._read()
        address = self._slots[key_slot(key.encode())]
        if address is None:
            raise ClusterDownError("no server has the slot of the pool")
        return address

    def _move(self, key: str, error: MovedError) -> None:
        with self._lock:
            before = self._slots[error.slot_id]
            host = error.host or (before.host if before is not None else "")
            self._slots[error.slot_id] = Address(host, error.port)

    def _read(self, *, again: bool = False) -> None:
        """Read the map of slots where there is none, or again; those who fail at the same time read it once."""
        if self._slots and not again:
            return
        with self._lock:
            if self._slots and (not again or time.monotonic() - self._read_at < FRESH_S):
                return
            try:
                self._slots = self._first_map()
                self._forget_clients()
            except (RedisError, OSError) as error:
                if not self._slots:
                    raise
                logger.debug("The slots of the cluster are not known anew: %s", error)
            self._read_at = time.monotonic()

    def _forget_clients(self) -> None:
        """Drop the clients of servers that have left the map; a call that is under way keeps its own."""
        for address in self._clients.keys() - set(self._slots):
            self._clients.pop(address, None)

    def _first_map(self) -> list[Address | None]:
        """The map of the server that tells it first: several are asked at once, for one may not answer."""
        addresses = list(dict.fromkeys([*filter(None, self._slots), *self._hosts]))
        random.shuffle(addresses)
        errors: list[Exception] = []
        for start in range(0, len(addresses), ASKED_AT_ONCE):
            asked = addresses[start : start + ASKED_AT_ONCE]
            answers: queue.SimpleQueue[list[Address | None] | Exception] = queue.SimpleQueue()
            for address in asked:
                threading.Thread(
                    target=self._ask, args=(address, answers), name=f"queueops-slots-{address}", daemon=True
                ).start()
            for _ in asked:
                answer = answers.get()
                if not isinstance(answer, Exception):
                    return answer
                errors.append(answer)
        raise _most_telling(errors)

    def _ask(self, address: Address, answers: queue.SimpleQueue[list[Address | None] | Exception]) -> None:
        short = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), ASK_S)
        try:
            with redis.Redis(host=address.host, port=address.port, **{**self._options, **short}) as client:
                answers.put(_slots_of(client.execute_command("CLUSTER SLOTS"), address))
        except Exception as error:  # the caller gets it
            answers.put(error)


def _slots_of(rows: Sequence[Any], asked: Address) -> list[Address | None]:
    """The address of each slot's primary; a server that does not tell its own address is where it was asked."""
    found: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
    for first, last, primary, *_ in rows:
        host = (primary[0] or b"").decode()
        address = Address(asked.host if host in ("", "?") else host, int(primary[1]))
        for slot in range(int(first), int(last) + 1):
            found[slot] = address
    return found


def _most_telling(errors: Sequence[Exception]) -> Exception:
    """What to say when no server told its slots: a refusal rather than a server that is away."""
    refusals = [error for error in errors if isinstance(error, redis.ResponseError | AuthenticationError)]
    if refusals and "cluster support disabled" in str(refusals[0]):
        return redis.ConnectionError("the server is not part of a cluster; its URL begins with redis: or rediss:")
    return (refusals or errors)[0]
