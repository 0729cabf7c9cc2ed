"""Exchange: a worker's round trip, which settles, renews and claims tasks of one pool, and its wake-up tokens."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from queueops import conf
from queueops.errors.refusals import LibraryRefused
from queueops.model import endings, states
from queueops.model.contracts import Exchange, Lease, RoundTrip, Settlement
from queueops.redis import call_limits, wire
from queueops.redis.connections import own_connection, socket_of
from queueops.redis.store_client import FORGET_WORKER_MS, STACK_KEPT_MS, StoreClient
from queueops.redis.watchful import Watchful

PATIENCE_S, WATCHFUL_S = 20, 1
"""Seconds of one BLPOP: of one server, and of a primary that a replica may replace."""
LATE_S = 1.0
"""Seconds that the end of a BLPOP may be late."""


class RedisExchanges:
    """A worker's round trips with one pool. Raises BrokerUnavailable or StoreFull; after that it must be closed."""

    def __init__(self, link: StoreClient, pool: str, worker: str) -> None:
        self._link = link
        self._pool = pool
        self._worker = worker
        self._line = link.once(pool, link.script_line, pool, "exchange")

    def send(self, trip: RoundTrip) -> None:
        """Send one exchange."""
        link = self._link
        arguments = wire.exchange_arguments(self._worker, link.longest_ms, link.rules, trip)
        link.once(self._pool, self._line.send, *arguments)

    def receive(self) -> Exchange:
        """The reply of the oldest pending exchange."""
        return wire.read_exchange(self._pool, self._worker, self._link.once(self._pool, self._line.receive))

    def close(self) -> None:
        """Close the connection. The worker does not know leases of pending replies until it calls ``recover``."""
        self._line.close()


class RedisWaker:
    """A worker's wait for wake-up tokens: one pending BLPOP, on a dedicated connection. Not thread-safe.

    The worker selects on its socket together with its own events, so that one thread serves both. Redis cannot tell a
    waiting client that its connection was cut. So the wait ends by itself after ``PATIENCE_S``, and is repeated. A
    server that does not end it in time is silent.
    """

    def __init__(self, client: Any, pool: str, key: str) -> None:
        """Open a connection to the server of ``client``, which holds ``key``, and start to wait."""
        self._pool = pool
        self._key = key
        self._connection = own_connection(client)
        self._seconds = WATCHFUL_S if isinstance(self._connection, Watchful) else PATIENCE_S
        self.patience_s = self._seconds + LATE_S
        """Seconds after `arm` in which a server that is well answers."""
        call_limits.mine.since = time.monotonic()
        try:
            self._connection.connect()
        finally:
            call_limits.mine.since = None
        self.arm()

    def fileno(self) -> int:
        """The descriptor to select on."""
        return socket_of(self._connection).fileno()

    def read(self) -> list[str | Lease]:
        """The token that has arrived. For a readable descriptor; raises on a lost connection."""
        reply = self._connection.read_response()
        return [] if reply is None else [wire.read_token(self._pool, reply[1])]

    def arm(self) -> None:
        """Wait again after a ``read``; tokens that came in between are in the list. Raises on a lost connection."""
        self._connection.send_command("BLPOP", self._key, self._seconds)

    def close(self) -> None:
        """Close the connection; a token on its way stays in the list for the next wait."""
        self._connection.disconnect()


class ExchangeCalls(StoreClient):
    """The role of the broker for workers and their supervisors. It executes nothing."""

    def exchange(self, pool: str, worker: str, trip: RoundTrip) -> Exchange:
        """One round trip of a worker. Not repeated automatically: after a lost reply the worker calls ``recover``."""
        arguments = wire.exchange_arguments(worker, self.longest_ms, self.rules, trip)
        reply = self.once(pool, self.scripts.send, "exchange", self.keys(pool).prefix, *arguments)
        return wire.read_exchange(pool, worker, reply)

    def exchanges(self, pool: str, worker: str) -> RedisExchanges:
        """The same, for a worker that sends the next exchange while one is pending."""
        return RedisExchanges(self, pool, worker)

    def note(
        self,
        pool: str,
        task_id: str,
        fence: int,
        *,
        done: float | None = None,
        total: float | None = None,
        line: bytes = b"",
        number: int = 0,
    ) -> str:
        """Record progress or a log line under the fence; returns OK, STALE or GONE.

        ``number`` differs for each line of a lease: a repeated call adds no second line.
        """
        shown = ["" if number is None else repr(number) for number in (done, total)]
        if line and (ring := conf.keyring()) is not None:
            line = ring.seal_text(line)
        word: bytes = self._call("note", pool, task_id, fence, *shown, line, number)
        return word.decode()

    def advance(self, pool: str, task_id: str, fence: int, done: float, total: float | None = None) -> str:
        """Record the progress of a part of a composite, which counts it; returns OK, STALE or GONE."""
        shown = "" if total is None else repr(total)
        word: bytes = self._call("advance", pool, task_id, fence, repr(done), shown, self.rules)
        return word.decode()

    def recover(
        self, pool: str, worker: str, running: Mapping[str, Settlement], keep: Collection[tuple[str, int]] = ()
    ) -> int:
        """Take back the leases of a worker: those in ``running`` as judged, the others without a charge.

        ``keep`` are (id, fence) that the worker still holds. A worker whose exchange got no reply calls this to give
        back leases that it does not know of. Returns how many were taken back.
        """
        judged: list[wire.Argument] = []
        for end in running.values():
            judged += wire.settlement_arguments(end)
        for task_id, fence in keep:
            judged += (task_id, fence, "keep", "", 0, "", "")
        count, taken = len(running) + len(keep), 0
        for state in states.held():
            start: bytes = b"-inf"
            while start:
                found, start, ended = self._call("dead_worker", pool, worker, state, start, count, self.rules, *judged)
                endings.tell(endings.read(pool, ended))
                taken += found
        return taken

    def held(self, pool: str, worker: str) -> list[tuple[str, int, bool]]:
        """The leases of a worker: id, fence, and whether it was handed over and not renewed since."""
        rows: set[tuple[str, int, bool]] = set()
        for state in states.held():
            start: bytes = b"-inf"
            while start:
                found, start = self._call("held", pool, worker, state, start)
                leases = zip(found[::3], found[1::3], found[2::3], strict=True)
                rows |= {(id.decode(), int(fence), bool(handed)) for id, fence, handed in leases}
        return sorted(rows, key=lambda row: row[1])

    def beat(self, pool: str, worker: str, fields: Mapping[str, str | int | bytes]) -> None:
        """Record a heartbeat, with the state of the worker and its running tasks.

        If the store refuses the Lua library, the heartbeat says so, and LibraryRefused is raised. It is then written by
        commands that need no library.
        """
        self.announce(pool)
        flat = [part for pair in fields.items() for part in pair]
        try:
            self._call("beat", pool, worker, FORGET_WORKER_MS, *flat, "refused", "")
        except LibraryRefused as error:
            self._beat_plainly(pool, worker, {**fields, "refused": str(error)})
            raise

    def _beat_plainly(self, pool: str, worker: str, fields: Mapping[str, str | int | bytes]) -> None:
        keys = self.keys(pool)
        seconds, microseconds = self.ask(pool, lambda client: client.time())
        now = seconds * 1000 + microseconds // 1000

        def fill(pipe: Any) -> None:
            pipe.zadd(keys.workers, {worker: now})
            pipe.hset(keys.worker(worker), mapping={"beat": now, **fields})
            pipe.pexpire(keys.worker(worker), FORGET_WORKER_MS)

        self.ask_all(pool, fill)

    def leave(self, pool: str, worker: str) -> None:
        """Remove the worker from the registry."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            pipe.zrem(keys.workers, worker)
            pipe.zrem(keys.idle, worker)
            pipe.delete(keys.worker(worker), keys.wake(worker))

        self.ask_all(pool, fill)

    def waker(self, pool: str, worker: str) -> RedisWaker:
        """A blocking wait for the worker's wake-up tokens. Raises redis-py's errors: the worker's loop handles them."""
        return RedisWaker(self.at(pool), pool, self.keys(pool).wake(worker))

    def tell(self, pool: str, worker: str, token: str) -> None:
        """Send a wake-up token to a worker: ``quiet``, ``stop``, ``stack``."""
        self._call("tell_worker", pool, worker, token)

    def wants_stack(self, pool: str, worker: str) -> bool:
        """Whether the stacks of a worker are asked for, and not stored yet."""
        return bool(self.ask_one(pool, lambda client: client.hexists(self.keys(pool).stack(worker), "asked")))

    def keep_stack(self, pool: str, worker: str, stacks: str) -> bool:
        """Store the stacks of a worker's threads; False if they are not asked for (any more)."""
        return bool(self._call("keep_stack", pool, worker, stacks, STACK_KEPT_MS) == b"OK")
