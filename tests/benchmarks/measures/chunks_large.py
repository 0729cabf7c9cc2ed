"""Map-reduce with fifty times as many chunks: what must not grow with them."""

import json
import subprocess
import sys
from statistics import median

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.measures.chunks import paces, splitting, stages
from tests.benchmarks.stage import RunFailed, Stage, gist
from tests.benchmarks.systems import OURS, PROGRAMS

TIMES = 50
SLOW_US = 5000
MEGABYTE = 1_000_000


def measure(stage: Stage) -> Figures:
    """The worker's memory, the script calls, and what the console and a watchdog wait for, while it all runs."""
    count = TIMES * stage.count
    with splitting(stage, count) as programs:
        before = sum(programs.memory())
        watch_scripts(stage)
        stage.produce("push", "Chunks", count=1)
        looker = look(stage)
        try:
            mapped, reduced = stages(stage, programs)
            after = sum(programs.memory())
            told = answer(looker)
            console_before, console_after = told.pop("megabytes")
        finally:
            looker.kill()
        scripts = slow_scripts(stage)
    return (
        paces(count, mapped, reduced)
        | {"worker MB before": before / MEGABYTE, "worker MB after": after / MEGABYTE}
        | {"console MB before": console_before, "console MB after": console_after}
        | scripts
        | {f"{what} {name} ms": value for what, times in told.items() for name, value in summed_up(times).items()}
    )


def watch_scripts(stage: Stage) -> None:
    """Begin to count the slow ones."""
    client = stage.server.client
    client.config_set("slowlog-log-slower-than", SLOW_US)
    client.config_set("slowlog-max-len", 100_000)
    client.config_set("latency-tracking-info-percentiles", "50 99 99.9")
    client.slowlog_reset()
    client.config_resetstat()


def slow_scripts(stage: Stage) -> Figures:
    """How long script calls took since then, and how many took longer than they may."""
    told = stage.server.info("latencystats")["latency_percentiles_usec_fcall"]
    slow = [entry for entry in stage.server.client.slowlog_get(100_000) if "FCALL" in str(entry["command"]).upper()]
    calls, _ = stage.server.commands()["fcall"]
    return {
        "script calls": float(calls),
        "script p99 us": float(told["p99"]),
        "script p99.9 us": float(told["p99.9"]),
        "scripts over 5 ms": float(len(slow)),
        "slowest script us": float(max((entry["duration"] for entry in slow), default=0)),
    }


def look(stage: Stage) -> "subprocess.Popen[str]":
    """Start looking at the task, and asking a console for its pages."""
    command = [sys.executable, str(PROGRAMS / "glance.py"), "chunks0"]
    console = {"DJANGO_SETTINGS_MODULE": "console.project.settings", "QUEUEOPS_DATA": str(stage.folder / "console")}
    return subprocess.Popen(command, env=stage.environment | console, cwd=stage.folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def answer(looker: "subprocess.Popen[str]") -> dict[str, list[float]]:
    """What was seen, once the task is over."""
    output, errors = looker.communicate(timeout=60)
    if looker.returncode:
        raise RunFailed(f"queueops glance: {gist(errors)}")
    told: dict[str, list[float]] = json.loads(output)
    if not told["megabytes"][0]:
        raise RunFailed("queueops glance: the task was over before it was looked at often; take a larger --count.")
    return told


def summed_up(times: list[float]) -> Figures:
    """The middle and the worst."""
    return {"median": median(times), "max": max(times)}


CHUNKS_LARGE = Benchmark(
    name="chunks_large",
    title="Map-reduce: one task with fifty chunks for each task of --count, while it is looked at (1 process)",
    target="worker and console memory flat, script p99 under 5 ms, a look under 100 ms, a tick bounded",
    measure=measure,
    systems=(OURS,),
    rounds=1,
    listed=True,
)
