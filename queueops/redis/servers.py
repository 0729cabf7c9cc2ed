"""Server map: which server of a store holds a pool, and a redis-py client for each server.

Each pool is one slot of a cluster. So each call goes to one server, and other servers do not delay it. Only to read the
slot map again, after a failure, several servers are asked, in parallel. Redis-py's own cluster client is not used: it
asks all servers in turn when one does not answer.
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

from queueops.model.encryption import Keyring
from queueops.redis import split_slots
from queueops.redis.opened_replies import open_replies
from queueops.redis.watchful import watch

ASK_S = 2.0
"""Seconds that a server has to return the slot map, and a sentinel to name the primary."""
ASKED_AT_ONCE = 5
FRESH_S = 0.25
"""Seconds for which a slot map is not read again."""

logger = logging.getLogger("queueops.redis")


class Address(NamedTuple):
    """The address on which a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class OneServer:
    """One server, or the primary that Sentinel names: it holds every pool."""

    is_cluster = False

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def client(self, key: str) -> redis.Redis:
        """The client for a key."""
        return self._client

    def name(self, key: str) -> str:
        """The name of the server that holds a key; empty here."""
        return ""

    def clients(self) -> dict[str, redis.Redis]:
        """The client of each server, by name."""
        return {"": self._client}

    def open_with(self, ring: Keyring) -> None:
        """Open sealed values in the replies of new connections."""
        open_replies(self._client, ring)

    def stranded(self, key: str) -> tuple[int, str]:
        """No key is on another server."""
        return 0, ""

    def failed(self, key: str, error: Exception) -> None:
        """Record that a call for a key failed; no slot can have moved here."""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class Cluster:
    """The primaries of a cluster. Thread-safe.

    The slot map is read at the first call, and again when a server does not answer or is down. A slot that has moved is
    recorded.
    """

    is_cluster = True

    def __init__(self, hosts: Sequence[tuple[str, int]], options: Mapping[str, Any]) -> None:
        """``hosts`` are asked for the slot map; ``options`` are those of redis-py's clients."""
        self._hosts = [Address(*host) for host in hosts]
        self._options = options
        self._clients: dict[Address, redis.Redis] = {}
        self._slots: list[Address | None] = []
        self._read_at = 0.0
        self._ring: Keyring | None = None
        self._lock = threading.Lock()

    def client(self, key: str) -> redis.Redis:
        """The client for a key. Raises redis-py's errors if no server returns the slot map, or none has this slot."""
        return self._client(self._address(key))

    def name(self, key: str) -> str:
        """The name of the server that holds a key."""
        return str(self._address(key))

    def clients(self) -> dict[str, redis.Redis]:
        """The client of each primary, by name."""
        self._read()
        return {str(address): self._client(address) for address in dict.fromkeys(self._slots) if address is not None}

    def open_with(self, ring: Keyring) -> None:
        """Open sealed values in the replies of new connections."""
        self._ring = ring

    def stranded(self, key: str) -> tuple[int, str]:
        """How many keys of a key's slot another server holds, and its address; see `split_slots`."""
        return split_slots.stranded(self.client(key), key_slot(key.encode()), self._briefly)

    def failed(self, key: str, error: Exception) -> None:
        """Record that a call for a key failed: another server may have its slot now."""
        if isinstance(error, MovedError):
            self._move(key, error)
        elif isinstance(error, ClusterDownError) or not isinstance(error, redis.ResponseError):
            self._read(again=True)

    def close(self) -> None:
        """Close the connections."""
        for client in list(self._clients.values()):
            client.close()

    def _client(self, address: Address) -> redis.Redis:
        client = self._clients.get(address)
        if client is None:
            made = redis.Redis(host=address.host, port=address.port, **self._options)
            if self._ring is not None:
                open_replies(made, self._ring)
            client = self._clients.setdefault(address, watch(made, self._is_replaced))
        return client

    def _is_replaced(self, host: str, port: int) -> bool:
        self._read(again=True)
        return Address(host, port) not in set(self._slots)

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
        """Read the slot map, for the first time or again; threads that fail at the same time read it once."""
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
                logger.debug("The map of the cluster's slots could not be read again: %s", error)
            self._read_at = time.monotonic()

    def _forget_clients(self) -> None:
        """Drop the clients of servers that have left the slot map; a call in progress keeps its own."""
        for address in self._clients.keys() - set(self._slots):
            self._clients.pop(address, None)

    def _first_map(self) -> list[Address | None]:
        """The slot map of the server that replies first. Several are asked in parallel, because one may not answer."""
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
        try:
            with self._briefly(*address) as client:
                answers.put(_slots_of(client.execute_command("CLUSTER SLOTS"), address))
        except Exception as error:  # the caller gets it
            answers.put(error)

    def _briefly(self, host: str, port: int) -> redis.Redis:
        """A client for one question."""
        short = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), ASK_S)
        return redis.Redis(host=host, port=port, **{**self._options, **short})


def _slots_of(rows: Sequence[Any], asked: Address) -> list[Address | None]:
    """The address of each slot's primary. If a server does not report its own host, the host of the request counts."""
    found: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
    for first, last, primary, *_ in rows:
        host = (primary[0] or b"").decode()
        address = Address(asked.host if host in ("", "?") else host, int(primary[1]))
        for slot in range(int(first), int(last) + 1):
            found[slot] = address
    return found


def _most_telling(errors: Sequence[Exception]) -> Exception:
    """The error if no server returned its slots: a refusal rather than an unreachable server."""
    refusals = [error for error in errors if isinstance(error, redis.ResponseError | AuthenticationError)]
    if refusals and "cluster support disabled" in str(refusals[0]):
        return redis.ConnectionError("the server is not part of a cluster; its URL begins with redis: or rediss:")
    return (refusals or errors)[0]
