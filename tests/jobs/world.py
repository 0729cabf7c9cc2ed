"""The world around jobs: a server of files that takes callbacks, too, and keeps what reached it."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from queueops import control, inspect
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from tests.jobs.in_flight import InFlight
from tests.jobs.servers import Asked, Exchange, LocalServer, serving


class World:
    """`/file` and `/told` are well. `/missing` is a 404.

    `/flaky` refuses the first attempts of a callback. `/unsure` refuses one request of two. `/held` waits for the gate.
    """

    def __init__(self, seconds: float, refusals: int) -> None:
        self.downloads, self.deliveries = InFlight(), InFlight()
        self.gate = threading.Event()
        self.server: LocalServer
        self._seconds, self._refusals = seconds, refusals
        self._refused: Counter[str] = Counter()
        self._asked = 0

    def job(self, aggregation: str, path: str = "/file", told: str = "/told", **more: Any) -> dict[str, Any]:
        """The options of a download whose request names its aggregation."""
        url = self.server.url(f"{path}?{aggregation}")
        return {"aggregation": aggregation, "url": url, "callback_url": self.server.url(told)} | more

    def attempts(self) -> dict[str, list[Asked]]:
        """The requests of each callback, by its id."""
        found = defaultdict(list)
        for asked in list(self.server.asked):
            if asked.method == "POST":
                found[asked.headers["webhook-id"]].append(asked)
        return found

    def check_told_once(self, handles: list[TaskHandle[Any]]) -> None:
        """Each job has one callback. Its attempts were the same, and one after the other."""
        attempts = self.attempts()
        told = Counter(json.loads(asked[0].body)["job_id"] for asked in attempts.values())
        assert told == {handle.id: 1 for handle in handles}
        for each in attempts.values():
            assert len({(asked.body, asked.headers["idempotency-key"]) for asked in each}) == 1
        assert set(self.deliveries.most.values()) == {1}

    @contextmanager
    def serve(self) -> Iterator[World]:
        """Serve until the end of the block."""
        routes = {
            "/file": self._file,
            "/unsure": self._unsure,
            "/missing": lambda exchange: exchange.answer(404),
            "/told": self._told,
            "/flaky": self._flaky,
            "/held": self._held,
        }
        with serving(routes) as self.server:
            try:
                yield self
            finally:
                self.gate.set()

    def _file(self, exchange: Exchange) -> None:
        with self.downloads.request(exchange.path.partition("?")[2], exchange.connection):
            time.sleep(self._seconds)
            exchange.answer(200, b"content")

    def _unsure(self, exchange: Exchange) -> None:
        self._asked += 1
        if self._asked % 2:
            exchange.answer(503)
        else:
            self._file(exchange)

    def _told(self, exchange: Exchange) -> None:
        with self.deliveries.request(exchange.headers["webhook-id"], exchange.connection):
            time.sleep(self._seconds)
            exchange.answer(204)

    def _flaky(self, exchange: Exchange) -> None:
        id = exchange.headers["webhook-id"]
        self._refused[id] += 1
        if self._refused[id] <= self._refusals:
            exchange.answer(503)
        else:
            self._told(exchange)

    def _held(self, exchange: Exchange) -> None:
        with self.deliveries.request(exchange.headers["webhook-id"], exchange.connection):
            self.gate.wait(60)
            exchange.answer(204)


def count_callbacks() -> Counter[str]:
    """Callbacks of all hosts by the state of their records."""
    return sum((Counter(row.counts) for row in inspect.destinations().rows), Counter())


def count_jobs() -> Counter[str]:
    """Jobs of all aggregations by their states."""
    found: Counter[str] = Counter()
    after = ""
    while True:
        page = inspect.aggregations(after=after)
        for row in page.rows:
            found.update(row.counts)
        if not (after := page.next):
            return found


def end_back_off(pool: str = "default") -> None:
    """Let what waits between two attempts begin now, as an operator does."""
    broker = get_broker()
    waiting = broker.client.zrange(broker.keys(pool).state("restart"), 0, 499)
    if waiting:
        control.run_now([id.decode() for id in waiting])
