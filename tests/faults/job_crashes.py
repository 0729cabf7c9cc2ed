"""Crashes of a worker process at one place in the life of a job or a callback, once in a test.

The environment names the place: `claimed`, `done` (a file is published, or a callback sent) or `settled` (the store has
the outcome, and the process has not read the answer), after `job-` or `callback-`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from queueops.kinds.jobs.handlers import CALLBACKS, DOWNLOADS
from queueops.redis.broker.exchange import RedisExchanges

PLACE = "QUEUEOPS_TESTS_CRASH"
PLACES = tuple(f"{kind}-{place}" for kind in ("job", "callback") for place in ("claimed", "done", "settled"))


def install() -> None:
    """Let this process end at the place that the environment names."""
    kind, _, place = os.environ.get(PLACE, "").partition("-")
    if not kind:
        return
    handler: Any = DOWNLOADS if kind == "job" else CALLBACKS
    ended: set[str] = set()
    handler.run = _run(handler.run, place, ended)
    if place == "settled":
        _watch_settlements(ended)


def _run(run: Callable[[Any], Any], place: str, ended: set[str]) -> Callable[[Any], Any]:
    def wrapped(context: Any) -> Any:
        if place == "claimed":
            _crash()
        found = run(context)
        if place == "done":
            _crash()
        ended.add(context.id)
        return found

    return wrapped


def _watch_settlements(ended: set[str]) -> None:
    send, receive = RedisExchanges.send, RedisExchanges.receive
    sent: list[bool] = []

    def sending(self: RedisExchanges, trip: Any) -> None:
        sent.append(any(each.id in ended for each in trip.settle))
        send(self, trip)

    def receiving(self: RedisExchanges) -> Any:
        found = receive(self)
        if sent.pop(0):
            _crash()
        return found

    RedisExchanges.send, RedisExchanges.receive = sending, receiving  # type: ignore[method-assign]


def _crash() -> None:
    """End the process as a kill does, the first time."""
    try:
        _mark().touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _mark() -> Path:
    return Path(os.environ["QUEUEOPS_TESTS_LEDGER"] + ".crashed")
