"""What `manage.py checkworkflows` finds of methods of objects, and of the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from queueops.kinds.workflows.code_check.static_check import check_code
from tests.workflows import checked_objects
from tests.workflows.checked_objects import alike, environment, objects

MARK = "  # "
LINES = Path(checked_objects.__file__).read_text().splitlines()


def marked(first: str, behind: str) -> set[int]:
    """The lines with a mark, from a workflow to another one."""
    begin, end = (next(number for number, line in enumerate(LINES) if name in line) for name in (first, behind))
    return {number + 1 for number in range(begin, end) if MARK in LINES[number]}


@pytest.mark.parametrize(
    ("code", "behind"),
    [(objects, '"checked.environment"'), (environment, '"checked.alike"')],
    ids=["objects", "environ"],
)
def test_each_use_is_found_once_with_its_line(code: Any, behind: str) -> None:
    found = check_code(code.name, code.handler.func)
    lines = [finding.line for finding in found]
    assert set(lines) == marked(f'"{code.name}"', behind)
    assert len(lines) == len(set(lines))


def test_what_to_use_is_told() -> None:
    found = {finding.what: finding.advice for finding in check_code(objects.name, objects.handler.func)}
    assert "activity" in found["client.get()"]
    assert "activity" in found["STORE.get()"]
    assert "wf.random()" in found["NUMBERS.random()"]


def test_objects_that_look_alike_are_no_findings() -> None:
    assert check_code(alike.name, alike.handler.func) == []
