"""`python -m tests.mutation`: see the package."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests import mutation
from tests.mutation import covering
from tests.mutation.mutants import AREAS, ROOT, Mutant, sample

NEAR_S, WIDE_S = 240, 600
"""Seconds that the tests of a function, and the wide ones, may take. A change that hangs them is noticed."""
PLUGINS = ("-p", "no:randomly", "-p", "no:cacheprovider")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def main() -> int:
    """Make the map, or try a sample: 1 if a change was not noticed."""
    options = _parser().parse_args()
    if options.map:
        return _make_map()
    unnoticed = []
    mutants = sample(options.sample, options.seed, options.area)
    with tempfile.TemporaryDirectory(prefix="queueops-mutation-") as folder:
        copy = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(copy), "HEAD"], cwd=ROOT, check=True)
        try:
            for number, mutant in enumerate(mutants, 1):
                begun = time.monotonic()
                by = _noticed_by(mutant, copy)
                verdict = f"noticed by {by}" if by else "SURVIVED"
                print(f"{number:3} {mutant}: {verdict} ({time.monotonic() - begun:.0f} s)", flush=True)
                unnoticed += [] if by else [mutant]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(copy)], cwd=ROOT, check=True)
    share = 100 * (len(mutants) - len(unnoticed)) / len(mutants)
    print(f"\n{len(mutants) - len(unnoticed)} of {len(mutants)} noticed ({share:.0f} %), seed {options.seed}.")
    for mutant in unnoticed:
        print(f"No test noticed that in {mutant}.")
    return int(bool(unnoticed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description=mutation.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--map", action="store_true", help="run the whole suite, and note which tests run which function"
    )
    parser.add_argument("--sample", type=int, default=40, metavar="N", help="changes (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which ones (%(default)s)")
    parser.add_argument("--area", choices=list(AREAS), default="", help="all, in turns, if none is given")
    return parser


def _make_map() -> int:
    if sys.version_info < (3, 12):
        raise SystemExit("The map needs Python 3.12 or newer: its monitoring costs nothing.")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "4",
        *PLUGINS,
        "-p",
        "tests.mutation.recorder",
        "-m",
        "not browser",
    ]
    subprocess.run(command, cwd=ROOT, check=False)
    print(f"{covering.join_parts()} test files are in the map.")
    return 0


def _noticed_by(mutant: Mutant, copy: Path) -> str:
    """The first test that fails with a change; empty if none does."""
    path = copy / mutant.path
    path.write_text(mutant.changed)
    try:
        near, others = covering.near(mutant), covering.others(mutant)
        return (
            (near and _failed(near, copy, NEAR_S))
            or (others and _failed(others, copy, WIDE_S, "-n", "2"))
            or _failed(covering.wide(mutant), copy, WIDE_S, "-n", "2")
        )
    finally:
        path.write_text(mutant.text)


def _failed(tests: list[str], copy: Path, seconds: int, *options: str) -> str:
    """The first test that fails, or that they hang. Processes that the tests start import the changed tree, too."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", *options, *PLUGINS, "-m", "not browser", *tests]
    with tempfile.TemporaryFile("w+") as printed, subprocess.Popen(
        command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, stdout=printed,
        stderr=subprocess.STDOUT, start_new_session=True,
    ) as running:  # fmt: skip
        try:
            status = running.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, 9)
            return f"a hang of {seconds} s in {tests[0]} and the next {len(tests) - 1}"
        printed.seek(0)
        text = printed.read()
        if status in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            return ""
        found = _FAILED.search(text)
        return found[1] if found else f"pytest itself: {text[-200:]!r}"


if __name__ == "__main__":
    sys.exit(main())
