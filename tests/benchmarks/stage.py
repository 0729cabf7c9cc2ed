"""The stage of one measurement: an empty server, an empty file of marks, and the programs that run on them."""

import json
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from tests.benchmarks import install
from tests.benchmarks.processes import Programs
from tests.benchmarks.server import Server
from tests.benchmarks.systems import PROGRAMS, System

MARK = struct.Struct("<IIqq")  # as in peers/marks.py
WARM_SECONDS = 30
POLL_SECONDS = 0.01
ERROR = re.compile(r"\w*(Error|Exception)\b.*:")


class Mark(NamedTuple):
    """One task that ended; nanoseconds of the machine-wide monotonic clock."""

    number: int
    pid: int
    begun: int
    ended: int


def gist(output: str) -> str:
    """The lines of a program's output that name an error, or else its last ones."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " / ".join([line for line in lines if ERROR.search(line)][-2:] or lines[-3:])[:400]


class RunFailed(Exception):
    """A program of a system did not do its part; the message has the gist of what it wrote."""


@dataclass(slots=True)
class Stage:
    """Where one system is measured once. `count` tasks, at most `budget` seconds of each thing that is timed."""

    system: System
    server: Server
    folder: Path
    count: int
    budget: float
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.reset()
        self.environment = {**os.environ, **self._settings()}

    def reset(self) -> None:
        """Forget all that was queued and all that ended."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.server.empty()
        self._file.touch()

    def produce(self, verb: str, task: str = "noop", count: int | None = None) -> dict[str, Any]:
        """Run the producer to its end; `push`, `push_many` or `latency`. Gives what it tells."""
        command = [*self.system.produce, verb, task, str(count or self.count), str(self.budget)]
        done = subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise RunFailed(f"{self.system.name} {verb}: {gist(done.stderr)}")
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told

    def fill(self, task: str = "noop", count: int | None = None) -> int:
        """Queue tasks in the fastest way the system has; gives how many."""
        return int(self.produce("push_many" if self.system.bulk else "push", task, count)["pushed"])

    @contextmanager
    def workers(self, processes: int = 1, threads: int | None = None) -> Iterator[Programs]:
        """The system's worker programs, ended afterwards."""
        commands = self.system.work(processes, threads or self.system.threads)
        programs = Programs(commands, self.environment, self.folder)
        try:
            yield programs
        finally:
            programs.end()

    def warm(self, programs: Programs, count: int = 50) -> None:
        """Have the workers run a few tasks, so that they are known to be up, then forget those."""
        queued = self.fill(count=count)
        self.wait_for(queued, WARM_SECONDS, programs)
        sleep(0.3)
        os.truncate(self._file, 0)

    def wait_for(self, count: int, seconds: float, programs: Programs) -> int:
        """Wait until `count` tasks ended, or `seconds` passed since the first; gives how many, or raises RunFailed."""
        started, first = monotonic(), 0.0
        while (ended := self.ended()) < count:
            now = monotonic()
            first = first or (now if ended else 0.0)
            if first and now - first > seconds:
                break
            if (not ended and now - started > WARM_SECONDS) or not programs.alive():
                raise RunFailed(f"{self.system.name}: {ended} of {count} tasks ended. {gist(programs.output())}")
            sleep(POLL_SECONDS)
        return ended

    def marks(self) -> list[Mark]:
        """What ended so far, in the order of its ends."""
        data = self._file.read_bytes()
        return [Mark(*row) for row in MARK.iter_unpack(data[: len(data) - len(data) % MARK.size])]

    def ended(self) -> int:
        """How many tasks ended so far."""
        return self._file.stat().st_size // MARK.size

    @property
    def _file(self) -> Path:
        return self.folder / "marks"

    def _settings(self) -> dict[str, str]:
        url = self.server.url
        return {
            "BENCH_URL": url,
            "BENCH_MARKS": str(self._file),
            "PYTHONPATH": f"{PROGRAMS}{os.pathsep}{install.ROOT}",
            "DJANGO_SETTINGS_MODULE": "bench.settings",
            "QUEUEOPS_URL": url,
            "RQ_REDIS_URL": url,
            "NODE_PATH": install.node_modules(),
        }
