"""The table of the console's tests names tests and commands that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec

from tests.repository.test_tree import ROOT

TABLE = ROOT / "tests" / "console" / "README.md"
NAMED = re.compile(r"`([\w/]*\.py)?(?:::(test_\w+))?`")
COMMAND = re.compile(r"`python -m ([\w.]+)`")


def named() -> Iterator[tuple[str, str]]:
    """Each file and test of the table; a test without a file is of the one before it."""
    file = ""
    for found in NAMED.finditer(TABLE.read_text()):
        file = found[1] or file
        yield file, found[2] or ""


def test_each_test_of_the_table_exists() -> None:
    rows = list(named())
    assert len(rows) > 60
    missing = [row for row in rows if not (ROOT / row[0]).is_file()]
    missing += [row for row in rows if row[1] and f"def {row[1]}(" not in (ROOT / row[0]).read_text()]
    assert missing == []


def test_each_command_of_the_table_exists() -> None:
    assert [name for name in COMMAND.findall(TABLE.read_text()) if find_spec(name) is None] == []
