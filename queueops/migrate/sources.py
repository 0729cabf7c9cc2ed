"""Source files: the Python files below a path, with their module names, and those that cannot be read."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SKIPPED = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache", "site-packages"}


class Unreadable(Exception):
    """A file that is not valid Python, or whose encoding is not known. The text says why."""


@dataclass(frozen=True)
class Source:
    """One file: its text, and how it is encoded."""

    path: Path
    module: str
    text: str
    encoding: str

    @property
    def package(self) -> str:
        """The package that a relative import starts from."""
        return self.module if self.path.name == "__init__.py" else self.module.rpartition(".")[0]

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Names that the module imports from others, and what each stands for."""
        found: dict[str, str] = {}
        for node in ast.parse(self.text).body:
            if isinstance(node, ast.ImportFrom):
                origin = absolute("." * node.level + (node.module or ""), self.package)
                found |= {f"{self.module}.{each.asname or each.name}": f"{origin}.{each.name}" for each in node.names}
        return found

    def mentions(self, words: re.Pattern[str]) -> bool:
        """Whether the text has one of these words; files without any are not examined further."""
        return words.search(self.text) is not None


def absolute(name: str, package: str) -> str:
    """A dotted name without leading dots: each dot but the first goes one package up."""
    rest = name.lstrip(".")
    if not (dots := len(name) - len(rest)):
        return name
    parts = package.split(".")
    return ".".join(part for part in [*parts[: len(parts) - dots + 1], rest] if part)


def python_files(paths: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """The files below each path, with the folder that module names start from."""
    for path in paths:
        if path.is_file():
            yield path, path.parent
            continue
        for each in sorted(path.rglob("*.py")):
            if not SKIPPED.intersection(each.relative_to(path).parts):
                yield each, path


def read(path: Path, root: Path) -> Source:
    """Read a file. Raises Unreadable."""
    try:
        data = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
        ast.parse(data, str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error
    except (SyntaxError, ValueError) as error:
        raise Unreadable(f"not valid Python: {error}") from error
    return Source(path, module_name(path, root), text, encoding)


def module_name(path: Path, root: Path) -> str:
    """The dotted name: from the outermost package, or from `root` for folders without `__init__.py`."""
    top = path.parent
    while (top / "__init__.py").exists():
        top = top.parent
    start = top if top != path.parent else root
    parts = [*path.resolve().relative_to(start.resolve()).parts[:-1], path.stem]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
