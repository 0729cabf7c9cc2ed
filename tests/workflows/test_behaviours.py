"""The table of behaviours names tests that there are, and that run with and without runs in memory."""

from __future__ import annotations

import importlib
from typing import Any

from tests.support.for_each import for_each
from tests.workflows.behaviours import BACKEND, END_TO_END, ENGINE, FAULTS, Missing

MISSING: set[str] = set()
"""A behaviour that comes leaves this list; none may be added."""
BY_REPLAY = {
    *("test_blocked", "test_checkworkflows", "test_environment", "test_environment_long", "test_kept_runs"),
    "test_replay",
}
"""Modules whose tests make a replay, or have runs in memory, themselves."""


def runs_twice(module: Any) -> bool:
    """Whether the tests of a module run with runs in memory, and with a replay before each step."""
    marks = getattr(module, "pytestmark", ())
    marks = marks if isinstance(marks, list | tuple) else (marks,)
    own = getattr(module, "_memory", None)
    is_twice = own is not None and bool(own._fixture_function_marker.params)
    return is_twice or any("memory" in mark.args for mark in marks if mark.name == "usefixtures")


def test_the_table_has_each_behaviour() -> None:
    assert (len(BACKEND), len(END_TO_END), len(FAULTS)) == (19, 45, 17)
    whole = BACKEND | END_TO_END | FAULTS | ENGINE
    assert {name for name, tests in whole.items() if isinstance(tests, Missing)} == MISSING


@for_each("behaviour", sorted((BACKEND | END_TO_END | FAULTS | ENGINE).keys() - MISSING))
def test_each_behaviour_has_its_tests(behaviour: str) -> None:
    tests = (BACKEND | END_TO_END | FAULTS | ENGINE)[behaviour]
    assert not isinstance(tests, Missing)
    assert tests
    for name in tests:
        module_name, _, function = name.partition(".")
        module = importlib.import_module(f"tests.workflows.{module_name}")
        assert callable(getattr(module, function, None)), name
        assert module_name in BY_REPLAY or runs_twice(module), name
