"""`python -m tests.mutation`: see the package."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import mutation
from tests.mutation import covering
from tests.mutation.mutants import AREAS, ROOT, Mutant, sample

NEAR_S, WIDE_S = 150, 180
"""Seconds that the tests of a function, and the wide ones, may take. A change that hangs them is noticed."""
PLUGINS = ("-p", "no:randomly", "-p", "no:cacheprovider")


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
                noticed = _is_noticed(mutant, copy)
                print(
                    f"{number:3} {'noticed ' if noticed else 'SURVIVED'} {mutant} ({time.monotonic() - begun:.0f} s)",
                    flush=True,
                )
                unnoticed += [] if noticed else [mutant]
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


def _is_noticed(mutant: Mutant, copy: Path) -> bool:
    path = copy / mutant.path
    path.write_text(mutant.changed)
    try:
        near = covering.near(mutant)
        return (bool(near) and _fails(near, copy, NEAR_S)) or _fails(covering.wide(mutant), copy, WIDE_S)
    finally:
        path.write_text(mutant.text)


def _fails(tests: list[str], copy: Path, seconds: int) -> bool:
    """Whether a test fails, or hangs. Processes that the tests start import the changed tree, too."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", *PLUGINS, "-m", "not browser", *tests]
    with subprocess.Popen(
        command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    ) as running:  # fmt: skip
        try:
            return running.wait(seconds) != 0
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, 9)
            return True


if __name__ == "__main__":
    sys.exit(main())
