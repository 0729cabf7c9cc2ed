"""The store's ceiling with batches of one: what a server does for a fleet of workers that hold one task each.

The tasks do nothing and the programs are small, so the server is the limit. "server CPU %" shows whether it was: it is
the server's share of one processor. Other load on the machine lowers the rate and that share more than "tasks /CPU s",
the tasks in a second of the server's processor time: the ceiling of a server that has a processor of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import RunFailed, Stage, gist
from tests.benchmarks.systems import BULLMQ, OURS, PROGRAMS, Command

WORKERS = 64
PROGRAMS_AT_MOST = 4
LOG = "fleet.log"
SCRIPTS = {"eval", "evalsha", "fcall"}

Program = subprocess.Popen[str]


def measure(stage: Stage) -> Figures:
    """Tasks a second, and what each costs the server, while every worker settles one task and claims the next."""
    number = max(1, min(PROGRAMS_AT_MOST, (os.cpu_count() or 1) - 1))  # a processor is left for the server
    share = max(stage.count, WORKERS) // number
    stage.fill(count=number * share + WORKERS)  # so that the last call of each worker finds a task, too
    with _fleet(stage, number, share) as fleet:
        stage.server.client.config_resetstat()
        cpu = stage.server.cpu_seconds()
        for program in fleet:
            _say(program, "go")
        told = [json.loads(_line(stage, program)) for program in fleet]
        cpu = stage.server.cpu_seconds() - cpu
        rows = stage.server.commands()
    settled, seconds = sum(each["settled"] for each in told), max(each["seconds"] for each in told)
    calls = [row for name, row in rows.items() if name in SCRIPTS]
    return {
        "tasks /s": settled / seconds,
        "server CPU %": 100 * cpu / seconds,
        "tasks /CPU s": settled / cpu,
        "CPU us/task": 1e6 * cpu / settled,
        "script calls/task": sum(count for count, _ in calls) / settled,
        "us/script call": sum(usec for _, usec in calls) / sum(count for count, _ in calls),
        "commands/task": sum(count for count, _ in rows.values()) / settled,
    }


@contextmanager
def _fleet(stage: Stage, number: int, share: int) -> Iterator[list[Program]]:
    """The programs, when all of their workers are connected and hold a task."""
    with ExitStack() as stack:
        log = stack.enter_context((stage.folder / LOG).open("w"))
        fleet = []
        for command in stage.system.work(number, WORKERS // number):
            program = subprocess.Popen(
                [*command, str(share), str(stage.budget)],
                env=stage.environment,
                cwd=stage.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            stack.enter_context(program)
            stack.callback(program.kill)
            fleet.append(program)
        for program in fleet:
            _line(stage, program)
        yield fleet


def _say(program: Program, word: str) -> None:
    assert program.stdin is not None
    print(word, file=program.stdin, flush=True)


def _line(stage: Stage, program: Program) -> str:
    """The next line of its output; raises RunFailed if it ended without one."""
    assert program.stdout is not None
    line = program.stdout.readline()
    if not line:
        raise RunFailed(f"{stage.system.name} fleet: {gist((stage.folder / LOG).read_text())}")
    return line


def _ours(processes: int, threads: int) -> list[Command]:
    return [[sys.executable, str(PROGRAMS / "fleet.py"), str(threads)]] * processes


def _bullmq(processes: int, threads: int) -> list[Command]:
    return [["node", str(PROGRAMS / "fleet.cjs"), str(threads)]] * processes


FLEET = Benchmark(
    name="fleet",
    title=f"{WORKERS} workers settle one task and claim the next, one at a time, from a backlog: the store's ceiling",
    target="3 times the rate of BullMQ's moveToFinished",
    measure=measure,
    systems=(replace(OURS, work=_ours), replace(BULLMQ, work=_bullmq)),
)
