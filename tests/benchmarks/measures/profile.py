"""Where our time goes: a sampling profile of the worker while it drains, and the server's time by command."""

import re
import subprocess
from collections import Counter
from pathlib import Path
from time import sleep

from tests.benchmarks import install
from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import RunFailed, Stage
from tests.benchmarks.systems import OURS

SECONDS, SAMPLES_A_SECOND = 3, 400
SHOWN = 25
COMMANDS_SHOWN = 10
LINE = re.compile(r":\d+\)$")
FILLED = 3  # times the backlog of the other benchmarks, for enough samples


def measure(stage: Stage) -> Figures:
    """Shares in percent of the samples in which a thread ran, then microseconds of the server a task."""
    profile = stage.folder / "profile.txt"
    with stage.workers() as programs:
        stage.warm(programs)
        stage.server.client.config_resetstat()
        sampler = _sample(programs.first, profile)
        sleep(0.3)
        queued = stage.fill(count=FILLED * stage.count)
        ended = stage.wait_for(queued, stage.budget, programs)
        sampler.wait(SECONDS + 30)
        commands = stage.server.commands()
    if not profile.exists():
        raise RunFailed("py-spy gave no profile; it needs root, or kernel.yama.ptrace_scope=0.")
    files, functions = _counted(profile)
    return {
        **_shares("file ", files),
        **_shares("self ", functions),
        **{
            f"server {name} us/task": usec / ended
            for name, (_, usec) in sorted(commands.items(), key=lambda row: -row[1][1])[:COMMANDS_SHOWN]
        },
    }


def _sample(pid: int, output: Path) -> subprocess.Popen[bytes]:
    program = str(Path(install.python()).parent / "py-spy")
    # Only threads that hold the interpreter's lock: the others wait, or are in the kernel on behalf of one that does.
    options = [
        "--gil",
        "--subprocesses",
        "--duration",
        str(SECONDS),
        "--rate",
        str(SAMPLES_A_SECOND),
        "--format",
        "raw",
    ]
    return subprocess.Popen(
        [program, "record", *options, "--output", str(output), "--pid", str(pid)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _counted(profile: Path) -> tuple[Counter[str], Counter[str]]:
    """Samples by file of ours (its calls to libraries are its own) and by the innermost function."""
    files: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for line in profile.read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        frames = [frame for frame in stack.split(";") if "(" in frame]
        if not frames:
            continue
        ours = next((frame for frame in reversed(frames) if "queueops/" in frame), frames[-1])
        files[_file(ours)] += int(samples)
        functions[LINE.sub(")", frames[-1])] += int(samples)
    return files, functions


def _file(frame: str) -> str:
    return frame.rpartition("(")[2].rpartition(":")[0]


def _shares(prefix: str, counted: Counter[str]) -> Figures:
    total = sum(counted.values()) or 1
    return {f"{prefix}{name} %": 100 * samples / total for name, samples in counted.most_common(SHOWN)}


PROFILE = Benchmark(
    name="profile",
    title="Where our time goes (samples of threads that run Python; a file's calls to libraries count for it)",
    target="",
    measure=measure,
    systems=(OURS,),
    rounds=1,
    listed=True,
)
