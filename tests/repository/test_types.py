"""What users write is what type checkers understand: mypy and pyright check the same sample without an error.

Measurements and soaks are programs that the suite does not run: mypy tells if they use a name that is gone.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = "tests/types/sample.py"
Check = Callable[[str], subprocess.CompletedProcess[str]]
MISTAKES = "tests/types/mistakes.py"
PROGRAMS = ("-p", "tests.benchmarks", "-p", "tests.soak")
GONE = re.compile(r".*\[(?:attr-defined|call-arg|name-defined)\]")
PEERS = "tests/benchmarks/peers/"  # they run with packages of their own, which are not installed here


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a checker beside the interpreter of the tests."""
    folder = str(Path(sys.executable).parent)
    found = shutil.which(command[0], path=folder)
    assert found, f"{command[0]} is not installed in {folder}: install the extra dev again"
    return subprocess.run([found, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)


def mypy(path: str) -> subprocess.CompletedProcess[str]:
    """Strict, as users may have it."""
    return run("mypy", "--strict", path)


def pyright(path: str) -> subprocess.CompletedProcess[str]:
    """With the rules that pyright has by itself."""
    return run("basedpyright", "--pythonpath", sys.executable, "--project", "tests/types/pyrightconfig.json", path)


@pytest.mark.parametrize("check", [mypy, pyright])
def test_what_users_write_has_the_types_that_are_documented(check: Check) -> None:
    found = check(SAMPLE)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("check", [mypy, pyright])
def test_mistakes_are_found_by_type_checkers(check: Check) -> None:
    lines = (ROOT / MISTAKES).read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# mistake")}
    said = check(MISTAKES).stdout
    assert {int(number) for number in re.findall(r"mistakes\.py:(\d+).*error", said)} == marked, said


def test_measurements_and_soaks_use_names_that_are_there() -> None:
    found = run("mypy", *PROGRAMS)
    assert found.stderr == ""
    lines = found.stdout.splitlines()
    assert [line for line in lines if GONE.fullmatch(line) and not line.startswith(PEERS)] == []
    assert re.search(r"checked \d\d+ source files|no issues found", lines[-1]), found.stdout
