"""`python -m tests.benchmarks [NAME ...] [--json FILE]`."""

import argparse
import difflib
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from tests import benchmarks
from tests.benchmarks import install, server
from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.measures import BENCHMARKS
from tests.benchmarks.stage import RunFailed, Stage
from tests.benchmarks.systems import DBOS, EVERY, System
from tests.benchmarks.table import medians, table


def main() -> int:
    """Run the benchmarks that are asked for; 1 if ours failed in one of them."""
    options = _parser().parse_args()
    if not options.no_install:
        _install()
    chosen = [BENCHMARKS[name] for name in options.names or BENCHMARKS]
    kinds = ("valkey", "redis") if options.server == "both" else (options.server,)
    reports = {kind: _on(kind, chosen, options) for kind in kinds}
    if options.json:
        Path(options.json).write_text(json.dumps(reports, indent=1))
    results = [result for report in reports.values() for result in report["benchmarks"].values()]
    return int(any("queueops" in result["failures"] for result in results))


def _on(kind: str, chosen: list[Benchmark], options: argparse.Namespace) -> dict[str, Any]:
    """All that was asked for, on one kind of server."""
    with (
        tempfile.TemporaryDirectory(prefix="queueops-bench-") as disk,
        tempfile.TemporaryDirectory(prefix="queueops-bench-", dir=_memory_folder()) as memory,
        server.running(kind, options.append_only, Path(disk)) as running,
    ):
        about = _about(kind, running, options)
        print(_heading(about), flush=True)
        report = {benchmark.name: run(benchmark, running, Path(memory) / "run", options) for benchmark in chosen}
    return {"about": about, "benchmarks": report}


def run(benchmark: Benchmark, running: server.Server, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure every system in every round, print the table, give medians, rounds and failures."""
    begun = monotonic()
    results: dict[str, list[Figures]] = {}
    failures: dict[str, str] = {}
    for _ in range(min(benchmark.rounds or options.rounds, options.rounds)):
        for system in _systems(benchmark, options):
            if system.name in failures:
                continue
            print(f"  {benchmark.name}: {system.name} ...", file=sys.stderr, flush=True)
            stage = Stage(system, running, folder, min(benchmark.count or options.count, options.count), options.budget)
            try:
                results.setdefault(system.name, []).append(benchmark.measure(stage))
            except RunFailed as error:
                failures[system.name] = str(error)
    print(table(benchmark, results, failures), f"({monotonic() - begun:.0f} s)\n", sep="", flush=True)
    middle = {name: medians(rounds) for name, rounds in results.items() if rounds}
    return {"medians": middle, "rounds": results, "failures": failures}


def _systems(benchmark: Benchmark, options: argparse.Namespace) -> list[System]:
    present = install.versions()
    wanted = [system for system in benchmark.systems if not options.only or system.name in options.only]
    return [system for system in wanted if not system.needs or system.needs in present]


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {name:10} {benchmark.title}" for name, benchmark in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=benchmarks.__doc__,
        epilog=f"names (all, if none is given):\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", type=_name, help="what to measure")
    parser.add_argument("--json", metavar="FILE", help="write medians and rounds to FILE")
    parser.add_argument(
        "--only", action="append", choices=[system.name for system in (*EVERY, DBOS)], help="a system; can be repeated"
    )
    parser.add_argument("--count", type=int, default=20_000, help="tasks at most (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds at most (%(default)s)")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds that one timed thing may take (%(default)s)")
    parser.add_argument(
        "--server", choices=["valkey", "redis", "both"], default="valkey", help="%(default)s is the embedded one's kind"
    )
    parser.add_argument(
        "--append-only", action="store_true", help="with an append-only file, as the embedded server has"
    )
    parser.add_argument("--no-install", action="store_true", help="measure only what is installed by now")
    return parser


def _name(text: str) -> str:
    if text in BENCHMARKS:
        return text
    near = difflib.get_close_matches(text, BENCHMARKS, n=1)
    raise argparse.ArgumentTypeError(
        f"no benchmark is named {text!r}." + (f" Did you mean {near[0]!r}?" if near else "")
    )


def _install() -> None:
    try:
        install.peers()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"Peers can't be installed, going on without those that are missing: {error}", file=sys.stderr)


def _memory_folder() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _about(kind: str, running: server.Server, options: argparse.Namespace) -> dict[str, Any]:
    told = running.info("server")
    wanted = {system.needs for system in (*EVERY, DBOS) if system.needs}
    versions = {name: version for name, version in install.versions().items() if name in wanted}
    return {
        "server": f"{kind} {told.get('valkey_version') or told['redis_version']}",
        "append_only": options.append_only,
        "python": platform.python_version(),
        "peers": versions,
        "count": options.count,
        "rounds": options.rounds,
    }


def _heading(about: dict[str, Any]) -> str:
    peers = ", ".join(f"{name} {version}" for name, version in about["peers"].items()) or "no peers"
    store = f"{about['server']} with append-only {'on' if about['append_only'] else 'off'}"
    return f"{store}, Python {about['python']}; {peers}; {about['count']:,} tasks, {about['rounds']} rounds\n"


if __name__ == "__main__":
    sys.exit(main())
