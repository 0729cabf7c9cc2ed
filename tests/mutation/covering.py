"""Which tests notice a change: those that run the changed function, then wide ones of its area."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import lru_cache

from tests.mutation.mutants import AREAS, ROOT, Mutant
from tests.mutation.recorder import HOME

NEAR_SECONDS, MOST_FILES = 60.0, 25
"""The tests of a function: so many seconds by the map, and so many files at most."""
WIDE = {
    "lua": ("tests/kernel/test_model.py", "tests/composites/test_model.py", "tests/mapreduce/test_model.py"),
    "worker": ("tests/worker", "tests/faults/test_dead_workers.py", "tests/commands/test_runworker.py"),
    "kinds": (
        "tests/workflows/test_behaviours.py",
        "tests/jobs/test_behaviours.py",
        "tests/mapreduce/test_behaviours.py",
    ),
    "console": ("tests/console/test_pages.py", "tests/console/test_mutations.py", "tests/inspecting"),
}
"""Tests of real processes and of whole areas, at most three minutes each."""
STATED = "tests/golden"
"""No function runs a default of a class: only these tests see it."""


def join_parts() -> int:
    """Make one map of what the processes of a run have seen; gives the number of test files."""
    joined: dict[str, dict[str, object]] = {}
    for part in HOME.glob("part-*.json"):
        for file, seen in json.loads(part.read_text()).items():
            old = joined.setdefault(file, {"runs": [], "seconds": 0.0})
            old["runs"] = sorted({*old["runs"], *seen["runs"]})  # type: ignore[misc]
            old["seconds"] += seen["seconds"]  # type: ignore[operator]
        part.unlink()
    (HOME / "map.json").write_text(json.dumps(joined))
    _map.cache_clear()
    return len(joined)


@lru_cache
def _map() -> dict[str, tuple[frozenset[str], float]]:
    path = HOME / "map.json"
    if not path.exists():
        raise SystemExit("There is no map of the tests. Run `python -m tests.mutation --map` first, with Python 3.12.")
    return {file: (frozenset(seen["runs"]), seen["seconds"]) for file, seen in json.loads(path.read_text()).items()}


def near(mutant: Mutant) -> list[str]:
    """The test files that run the changed function, those first that run little else. All of its file, if none does."""
    for names in _names(mutant):
        files = [(len(runs), file, seconds) for file, (runs, seconds) in _map().items() if runs & names]
        chosen, total = [], 0.0
        for _, file, seconds in sorted(files):
            if not chosen or (total + seconds <= NEAR_SECONDS and len(chosen) < MOST_FILES):
                chosen.append(file)
                total += seconds
        if chosen:
            return chosen
    return []


def wide(mutant: Mutant) -> list[str]:
    """Wide tests of the area that has the file."""
    area = next(name for name, patterns in AREAS.items() if any((ROOT / mutant.path) in ROOT.glob(p) for p in patterns))
    return [STATED, *WIDE[area]]


def _names(mutant: Mutant) -> Iterator[set[str]]:
    if mutant.path.endswith(".lua"):
        yield {f"lua::{(ROOT / mutant.path).stem}"}
        return
    for name in reversed(_functions(ast.parse(mutant.text), mutant.line)):
        yield {f"{mutant.path}::{name}"}
    yield {name for runs, _ in _map().values() for name in runs if name.startswith(f"{mutant.path}::")}


def _functions(tree: ast.AST, line: int, within: str = "") -> list[str]:
    """The qualified names of the functions around a line, from outside in."""
    found: list[str] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler) and node.lineno <= line <= (node.end_lineno or 0):
            if isinstance(node, ast.ClassDef):
                found += _functions(node, line, f"{within}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{within}{node.name}"
                found += [name, *_functions(node, line, f"{name}.<locals>.")]
            else:
                found += _functions(node, line, within)
    return found
