"""Functions and files that one plain task passes, from its push to its result, here and in other task queues.

`python -m tests.repository.walk [SYSTEM ...]` prints them. Producer and worker are two processes, results are kept, and
the server is the redis-server of this machine. Of five tasks that follow three others, the median counts. `--list`
prints each file with its functions. With Python 3.12 and later, comprehensions are no functions any more.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import install
from tests.benchmarks.processes import Programs
from tests.benchmarks.server import Server, running
from tests.benchmarks.stage import MARK
from tests.benchmarks.systems import OURS, PEERS, PROGRAMS, System

HERE = Path(__file__).parent / "walking"
SYSTEMS = {system.name: system for system in (OURS, *PEERS) if system.name in ("queueops", "huey", "dramatiq", "rq")}
FOLDERS = {"queueops": f"{install.ROOT}/queueops/"}
"""Where the code of a system is; of the others in the packages of their interpreter."""


class Walk(NamedTuple):
    """The calls of one task: each function with its file, counted in the producer and in its workers."""

    producer: Counter[tuple[str, str]]
    worker: Counter[tuple[str, str]]

    @property
    def functions(self) -> set[tuple[str, str]]:
        """Each function once."""
        return {*self.producer, *self.worker}

    @property
    def files(self) -> set[str]:
        """The files that they are in."""
        return {file for file, _ in self.functions}


def walk(system: System, server: Server, folder: Path) -> Walk:
    """Run tasks of a system; the walk that is the median by its functions."""
    window, calls = folder / "window", folder / "calls"
    window.write_bytes(b"\0")
    calls.touch()
    paths = [str(HERE), str(PROGRAMS), str(install.ROOT)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "WALK_WINDOW": str(window),
        "WALK_CALLS": str(calls),
        "BENCH_URL": server.url,
        "BENCH_MARKS": str(folder / "marks"),
        "DJANGO_SETTINGS_MODULE": "bench.settings",
        "QUEUEOPS_URL": server.url,
        "RQ_REDIS_URL": server.url,
    }
    server.empty()
    programs = Programs(system.work(1, 1), environment, folder)
    try:
        push = [system.produce[0], str(HERE / "push.py"), system.name]
        done = subprocess.run(push, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    finally:
        programs.end()
    workers = {str(pid) for _, pid, *_ in MARK.iter_unpack((folder / "marks").read_bytes())}
    walks = read(calls, done.stdout.split()[-1], workers, FOLDERS.get(system.name, f"/site-packages/{system.name}/"))
    return sorted(walks, key=lambda each: len(each.functions))[len(walks) // 2]


def read(calls: Path, producer: str, workers: Set[str], folder: str) -> list[Walk]:
    """The walks in these processes, of the functions in this folder. A supervisor does not see the task."""
    walks: dict[str, Walk] = {}
    for line in calls.read_text().splitlines():
        number, process, path, name, first = line.split("\t")
        if folder in path and process in {producer, *workers}:
            one = walks.setdefault(number, Walk(Counter(), Counter()))
            side = one.producer if process == producer else one.worker
            side[path.rpartition(folder)[2], f"{name}:{first}"] += 1
    return list(walks.values())


def show(name: str, found: Walk, *, by_file: bool) -> None:
    """Print a walk."""
    made = f"{found.producer.total()} + {found.worker.total()}"
    print(f"| {name} | {made} | {len(found.functions)} | {len(found.files)} |", flush=True)
    for file in sorted(found.files) if by_file else ():
        print(f"  {file}")
        for each, function in sorted(found.functions, key=lambda one: int(one[1].rpartition(":")[2])):
            if each == file:
                key = (each, function)
                print(f"    {function.rpartition(':')[0]}  {found.producer[key]} + {found.worker[key]}")


def main() -> None:
    """Walk, and print a row for each system."""
    parser = argparse.ArgumentParser(prog="python -m tests.repository.walk", description=__doc__)
    parser.add_argument("systems", nargs="*", default=list(SYSTEMS), metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("--list", action="store_true", help="each file with its functions")
    options = parser.parse_args()
    if unknown := set(options.systems) - set(SYSTEMS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; systems are {', '.join(SYSTEMS)}")
    if set(options.systems) - {"queueops"}:
        install.peers()
    print("| plain task, push to result | calls, producer + worker | functions | files |\n|---|---|---|---|")
    for name in options.systems:
        with tempfile.TemporaryDirectory() as place, running("redis", append_only=False, folder=Path(place)) as server:
            show(name, walk(SYSTEMS[name], server, Path(place)), by_file=options.list)


if __name__ == "__main__":
    sys.exit(main())
