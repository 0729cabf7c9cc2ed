"""The systems that are compared, each in its best sane setting: how its producer and its workers are started."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import install

PROGRAMS = Path(__file__).parent / "peers"
Command = list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system. `work(processes, threads)` gives the programs to start.

    `threads` is what its no-ops are fastest with, `bulk` whether it has a call for many, `keeps` whether the task of a
    killed worker survives.
    """

    name: str
    produce: tuple[str, ...]
    work: Callable[[int, int], list[Command]]
    needs: str = ""
    threads: int = 8
    bulk: bool = False
    keeps: bool = True


def python_peer(name: str, work: Callable[[int, int], list[Command]], *, threads: int, **traits: bool) -> System:
    """A peer of the benchmark's own environment, whose program is `peers/<name>_app.py`."""
    produce = (install.python(), str(PROGRAMS / "produce.py"), f"{name}_app")
    return System(name=name, needs=name, produce=produce, work=work, threads=threads, **traits)


def module(name: str, *arguments: object) -> Command:
    """`python -m name ...` in the peers' environment."""
    return [install.python(), "-m", name, *map(str, arguments)]


def _ours(processes: int, threads: int) -> list[Command]:
    return [[sys.executable, "-m", "django", "runworker", "--processes", str(processes), "--threads", str(threads)]]


def _bare(processes: int, threads: int) -> list[Command]:
    return [[sys.executable, str(PROGRAMS / "bare_app.py"), str(threads)]] * processes


def _huey(processes: int, threads: int) -> list[Command]:
    return [module("huey.bin.huey_consumer", "huey_app.huey", "-k", "thread", "-w", threads, "-q", "-n")] * processes


def _taskiq(processes: int, threads: int) -> list[Command]:
    options = ("--workers", processes, "--max-async-tasks", threads, "--no-parse", "--log-level", "ERROR")
    return [module("taskiq", "worker", "taskiq_app:broker", *options)]


def _dramatiq(processes: int, threads: int) -> list[Command]:
    return [module("dramatiq", "dramatiq_app", "--processes", processes, "--threads", threads)]


def _celery(processes: int, threads: int) -> list[Command]:
    pool = ("-P", "solo") if threads == 1 else ("-P", "threads", "-c", threads)
    quiet = ("-l", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat")
    return [
        module("celery", "-A", "celery_app", "worker", *pool, *quiet, "-n", f"w{n}@bench") for n in range(processes)
    ]


def _rq(processes: int, threads: int) -> list[Command]:
    program = str(Path(install.python()).parent / "rq")
    return [[program, "worker", "-q", "-w", "rq.worker.SimpleWorker", "bench"]] * processes


def _bullmq(processes: int, threads: int) -> list[Command]:
    return [["node", str(PROGRAMS / "bullmq.cjs"), "work", str(threads)]] * processes


OURS = System(
    name="queueops", produce=(sys.executable, str(PROGRAMS / "produce.py"), "queueops_app"), work=_ours, bulk=True
)
BARE = System(
    name="bare loop", produce=(sys.executable, str(PROGRAMS / "produce.py"), "bare_app"), work=_bare, bulk=True
)
BULLMQ = System(
    name="bullmq",
    needs="bullmq",
    produce=("node", str(PROGRAMS / "bullmq.cjs")),
    work=_bullmq,
    threads=50,
    bulk=True,
)
PEERS = (
    python_peer("huey", _huey, threads=4, keeps=False),
    python_peer("taskiq", _taskiq, threads=50),
    python_peer("dramatiq", _dramatiq, threads=16),
    python_peer("celery", _celery, threads=1, keeps=False),
    python_peer("rq", _rq, threads=1, bulk=True),
    BULLMQ,
)
DBOS = System(name="dbos", needs="dbos", produce=(), work=lambda processes, threads: [])
"""Workflows alone: its program measures itself."""
EVERY = (OURS, *PEERS, BARE)
