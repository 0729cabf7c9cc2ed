"""What users write is what type checkers understand: mypy and pyright check the same sample without an error."""

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
