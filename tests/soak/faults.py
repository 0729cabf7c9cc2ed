"""The faults: what is killed, stopped or overwritten, and the processes that are started again after it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from queueops.redis import embedded
from queueops.redis.broker import get_broker
from tests.faults.processes import ROOT, Ledger, Worker
from tests.soak.work import POOLS
from tests.support.waiting import wait_until

LEASE = 2.0
SETTINGS = {"LEASE": LEASE, "GRACE": 3.0, "MAX_CRASHES": 1_000_000}  # how often one task is lost is left to chance
WORKERS, WATCHDOGS, PRODUCERS = 2, 2, 2
STORE = {"appendfsync": "no"}
"""The server hands each write to the system before it answers, so that a kill -9 of the server loses nothing.

With everysec a busy disk makes the server put off its writes, for up to two seconds.
"""
QUIET = 0.5
"""Seconds without a fault after each one, at least."""


class Scene:
    """The processes of one run, in a folder of their own. ``faults`` counts what was done to them."""

    def __init__(self, folder: Path, store: Path, seed: int, rate: float) -> None:
        self.folder, self.acknowledged, self.faults = folder, folder / "acknowledged", Counter[str]()
        self.ledger = Ledger(folder / "ledger")
        self._store, self._seed, self._rate = store, seed, rate
        self._rng = random.Random(seed)
        self._started = 0
        self.workers = [self._worker() for _ in range(WORKERS)]
        self.watchdogs = [self._watchdog() for _ in range(WATCHDOGS)]
        self._producers = [self._producer(number) for number in range(PRODUCERS)]
        self._kinds: list[Callable[[], None]] = [
            *[self._kill_child] * 6, *[self._kill_worker] * 3, *[self._kill_watchdog] * 3, self._kill_server,
            self._freeze_worker, self._freeze_server, self._stop_worker, self._write_garbage,
        ]  # fmt: skip

    def harm(self, seconds: float, every: float) -> None:
        """Make faults at random moments for so long, on average one ``every`` so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, QUIET + self._rng.expovariate(1 / every)))
            fault = self._rng.choice(self._kinds)
            fault()
            self.faults[fault.__name__.strip("_").replace("_", " ")] += 1
            self._replace_dead()

    def stop_pushing(self) -> None:
        """End the producers; raises where one has broken down."""
        for producer in self._producers:
            producer.send_signal(signal.SIGTERM)
        ends = [producer.wait(60) for producer in self._producers]
        if any(ends):
            raise AssertionError(f"a producer ended with {ends}: {(self.folder / 'producers.log').read_text()[-2000:]}")

    def end(self) -> None:
        """End every process by its id, however the run went."""
        for process in [*self.workers, *self.watchdogs]:
            process.end()
        for producer in self._producers:
            if producer.poll() is None:
                producer.kill()
                producer.wait(60)

    def _kill_child(self) -> None:
        if children := self._rng.choice(self.workers).children():
            with suppress(ProcessLookupError):
                os.kill(self._rng.choice(children), signal.SIGKILL)

    def _kill_worker(self) -> None:
        self._rng.choice(self.workers).signal_all(signal.SIGKILL)

    def _kill_watchdog(self) -> None:
        self._rng.choice(self.watchdogs).signal_all(signal.SIGKILL)

    def _kill_server(self) -> None:
        server = embedded.status(self._store)
        if server.pid:
            os.kill(server.pid, signal.SIGKILL)

    def _freeze_worker(self) -> None:
        """Longer than its leases: what it held is taken, and it wakes up as a zombie."""
        worker = self._rng.choice(self.workers)
        worker.signal_all(signal.SIGSTOP)
        time.sleep(LEASE * 2)
        worker.signal_all(signal.SIGCONT)

    def _freeze_server(self) -> None:
        if pid := embedded.status(self._store).pid:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(LEASE * 0.75)
            os.kill(pid, signal.SIGCONT)

    def _stop_worker(self) -> None:
        """As a deploy does."""
        self._rng.choice(self.workers).signal(signal.SIGTERM)

    def _write_garbage(self) -> None:
        """A record that is no record, where a worker claims."""
        broker, name = get_broker(), f"garbage-{self.faults['write garbage']}"
        keys = broker.keys(self._rng.choice(POOLS))
        broker.client.set(keys.task(name), b"\xff garbage")
        broker.client.zadd(keys.state("pending"), {name: 1})
        broker.client.zadd(keys.lane("default"), {name: 0})
        broker.client.zadd(keys.lanes_ready, {"default": 0}, nx=True)

    def _replace_dead(self) -> None:
        """What a service manager does."""
        embedded.start(self._store, options=STORE)
        self.workers = [self._alive(worker, self._worker) for worker in self.workers]
        self.watchdogs = [self._alive(watchdog, self._watchdog) for watchdog in self.watchdogs]

    def _alive(self, process: Worker, start: Callable[[], Worker]) -> Worker:
        if process.popen.poll() is None:
            return process
        process.end()
        return start()

    def _log(self) -> Path:
        self._started += 1
        return self.folder / f"{self._started:04d}.log"

    def _worker(self) -> Worker:
        pools = [word for pool in POOLS for word in ("--pool", pool)]
        return Worker(self._log(), SETTINGS, self.ledger, "--processes", "2", "--threads", "4", *pools)

    def _watchdog(self) -> Worker:
        return Worker(self._log(), SETTINGS, self.ledger, command="watchdog")

    def _producer(self, number: int) -> subprocess.Popen[Any]:
        command = [sys.executable, "-m", "tests.soak.producer", f"p{number}", str(self._seed * 1000 + number),
                   str(self._rate / PRODUCERS), str(self.acknowledged)]  # fmt: skip
        environment = os.environ | {"QUEUEOPS_TESTS_SETTINGS": json.dumps(SETTINGS)}
        with (self.folder / "producers.log").open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


def until_drained(scene: Scene, is_over: Callable[[], bool], seconds: float) -> bool:
    """Whether all work has ended within so many seconds without faults."""
    try:
        wait_until(is_over, seconds, every=0.5)
    except AssertionError:
        return False
    return True
