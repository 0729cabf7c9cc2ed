"""The demo's jobs: downloads from the sample server for some shops, whose outcomes go back to it as callbacks."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from queueops import Retry, control, inspect, jobs
from queueops_demo import sample_server

EVERY_S = 3.0
KEEP_S = 900.0
"""Seconds after which the demo deletes a downloaded picture."""
ENDS_S = 60.0
"""Seconds between two times at which an operator acts: gives something up, and sends something again."""
AGAIN_S = 30.0
"""Seconds until a dead callback is sent again, so that it is scheduled meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """An aggregation: what it asks for, and where its outcomes go."""

    name: str
    limit: int
    paths: tuple[str, ...]
    target: str
    host: str = ""  # of the target; empty: that of the sample server


SHOPS = (
    Shop(name="flower shop", limit=4, paths=("pictures", "pictures", "moved", "missing"), target="told"),
    Shop(name="books.example", limit=2, paths=("flaky", "pictures", "torn"), target="flaky"),
    Shop(name="slow-prints", limit=1, paths=("slow",), target="slow", host="localhost"),
    Shop(name="Trödel & Söhne", limit=3, paths=("liar", "pictures", "astray"), target="told"),
    Shop(name="closed shop", limit=2, paths=("pictures",), target="gone", host="localhost"),
    Shop(name="shop without a host", limit=2, paths=("pictures",), target="told", host="shop.invalid"),
)


class JobMix:
    """Hands in one job after the other. Without the packages of jobs, or before the server has started, none."""

    def __init__(self) -> None:
        self._is_possible = find_spec("puremagic") is not None
        self._data = Path(settings.DATA)
        self._due = 0.0
        self._ends_at = time.monotonic() + ENDS_S
        self._count = 0

    def push_due(self, now: float) -> None:
        """Hand in what is due by now."""
        if not self._is_possible or now < self._due or not (base := sample_server.address(self._data)):
            return
        self._due = now + EVERY_S
        self._count += 1
        shop = SHOPS[self._count % len(SHOPS)]
        jobs.submit(**job_of(shop, random.choice(shop.paths), base, self._count))
        if now >= self._ends_at:
            self._ends_at = now + ENDS_S
            give_up_something()
            send_again()
            delete_old_files(Path(settings.MEDIA_ROOT), time.time() - KEEP_S)


def job_of(shop: Shop, path: str, base: str, number: int) -> dict[str, Any]:
    """The options of the next job of a shop. Each tenth begins a little later."""
    host = shop.host or urlsplit(base).hostname
    told = f"http://{host}:{urlsplit(base).port}/{shop.target}/{number}"
    return {
        "aggregation": shop.name,
        "limit": shop.limit,
        "url": f"{base}/{path}/{number}.png",
        "callback_url": told,
        "extra": f'{{"product": {number}}}',
        "options": {"mime_type": "image/*", "extract_image_size": True, "download_timeout": 20},
        "retry": Retry(delay=5, backoff=2, jitter=0.2),
        "delay": 30 if number % 10 == 0 else None,
    }


def give_up_something() -> None:
    """Cancel a job that waits, and discard a callback that backs off, as an operator does."""
    waiting = [row.id for row in inspect.tasks(inspect.TaskQuery(kind="job", state="postponed"), limit=1).rows]
    if waiting:
        control.cancel(waiting, "the product is no longer sold")
    backing_off = [row.id for row in inspect.callbacks("backing_off", limit=1).rows]
    if backing_off:
        control.discard_callbacks(backing_off)


def send_again() -> None:
    """Send a dead callback again, somewhat later, as an operator does at a rate."""
    dead = [row.id for row in inspect.callbacks("dead", limit=1).rows]
    if dead:
        control.redeliver_callbacks(dead, delay=AGAIN_S)


def delete_old_files(directory: Path, before: float) -> None:
    """Delete pictures that were stored before this time: the demo never ends, and its disk must not fill."""
    for path in directory.rglob("*"):
        if path.is_file() and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
