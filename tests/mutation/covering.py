"""Which tests notice a change: those that run the changed function or name its module, then wide ones of its area."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import lru_cache

from tests.mutation.mutants import AREAS, ROOT, Mutant
from tests.mutation.recorder import HOME

NEAR_SECONDS, MOST_FILES = 60.0, 25
"""The tests of a function: so many seconds by the map, and so many files at most."""
LONG_NAME = 7
"""Letters of a name that tells a module from others."""
MORE_SECONDS, UNKNOWN_SECONDS = 180.0, 20.0
"""Other tests of a change: so many seconds by the map at most, and how many a file counts that is not in the map."""
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
STATED = ("tests/golden", "tests/repository/test_log_lines.py")
"""What is read as text: no function runs a default of a class, and a line of the log that is wrong fails no call."""


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


def others(mutant: Mutant) -> list[str]:
    """Files that name the module or what it offers: a process that they start runs it. Then quick ones that run it."""
    known, total = set(near(mutant)), 0.0
    chosen: list[str] = []
    for file in dict.fromkeys((*_naming(mutant), *_running(mutant))):
        seconds = _map()[file][1] if file in _map() else UNKNOWN_SECONDS
        if file not in known and total + seconds <= MORE_SECONDS:
            chosen.append(file)
            total += seconds
    return chosen


def _naming(mutant: Mutant) -> list[str]:
    """The test files that name most of what the module offers come first, behind those that are called as it is."""
    stem = (ROOT / mutant.path).stem.strip("_")
    offered = {stem} if mutant.path.endswith(".lua") else _public(ast.parse(mutant.text))
    words = re.compile(rf"\b(?:{'|'.join(sorted(offered | {stem}))})\b")
    found: list[tuple[bool, int, str]] = []
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        names = {name for name in words.findall(path.read_text()) if len(name) >= LONG_NAME}
        if stem in path.stem or names & offered:
            found.append((stem not in path.stem, -len(names), path.relative_to(ROOT).as_posix()))
    return [file for _, _, file in sorted(found)]


def _public(tree: ast.Module) -> set[str]:
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return {node.name for node in defined if not node.name.startswith("_")}


def _running(mutant: Mutant) -> list[str]:
    names = next((names for names in _names(mutant) if any(runs & names for runs, _ in _map().values())), set())
    home = "kernel" if mutant.path.startswith("queueops/redis/lua") else mutant.path
    found = [(_folder(file) not in home, seconds, file) for file, (runs, seconds) in _map().items() if runs & names]
    return [file for _, _, file in sorted(found)]


def _folder(file: str) -> str:
    return file.split("/")[1]


def wide(mutant: Mutant) -> list[str]:
    """Wide tests of the area that has the file."""
    area = next(name for name, patterns in AREAS.items() if any((ROOT / mutant.path) in ROOT.glob(p) for p in patterns))
    return [*STATED, *WIDE[area]]


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
