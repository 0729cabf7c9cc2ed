"""No module needs one that needs it, not for a type and not within a function either."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
KNOWN = {
    ("queueops.kinds.composites.parts", "queueops.kinds.composites.flatten"),
    ("queueops.tasks.task", "queueops.kinds.composites.parts"),
}
"""Two that are one thing in two files: this list may only become shorter."""


def test_no_two_modules_need_each_other() -> None:
    paths = [path for each in ("queueops", "console", "queueops_demo") for path in (ROOT / each).rglob("*.py")]
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    needs = {name: {each for each in _imported(path, files) if each != name} for name, path in files.items()}
    for name, other in KNOWN:
        needs.get(name, set()).discard(other)
    TopologicalSorter(needs).prepare()


def _imported(path: Path, files: Container[str]) -> Iterator[str]:
    """The modules that a module imports: of `from a import b` the module `a.b`, or `a` if there is none."""
    for node in _statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{each.name}" for each in node.names]
            yield from (name if name in files else node.module for name in names)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node, however deep; no expressions, which are most nodes."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for each in getattr(node, field, ()):
            yield each
            yield from _statements(each)
