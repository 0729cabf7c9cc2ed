"""A server on this machine that takes what the SDK of Sentry sends."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.jobs.servers import Exchange, LocalServer, serving

Item = tuple[str, dict[str, Any]]


class Receiver:
    """What has come, as (type, body) of each item of an envelope. While it is `slow`, it answers nothing."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.slow = threading.Event()
        self.slow.set()

    @property
    def dsn(self) -> str:
        return f"http://key@{self.server.host}:{self.server.port}/1"

    def items(self, kind: str) -> list[dict[str, Any]]:
        return [body for asked in self.server.asked for type, body in _items(asked.body) if type == kind]

    def clear(self) -> None:
        self.server.asked.clear()


@contextmanager
def receiving() -> Iterator[Receiver]:
    found: list[Receiver] = []

    def take(exchange: Exchange) -> None:
        found[0].slow.wait()
        exchange.answer(200, b"{}")

    with serving({"/api/1/envelope/": take}) as server:
        found.append(Receiver(server))
        try:
            yield found[0]
        finally:
            found[0].slow.set()


def _items(body: bytes) -> Iterator[Item]:
    data = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    lines = data.split(b"\n")
    rest = iter(lines[1:])
    for head in rest:
        if head.strip():
            yield json.loads(head)["type"], json.loads(next(rest))
