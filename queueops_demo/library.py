"""Sample data: the files of Python's standard library."""

from __future__ import annotations

import random
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(sysconfig.get_path("stdlib"))
LARGEST = 300_000
INSTALLED = {"site-packages", "dist-packages"}
NOT_WANTED = INSTALLED | {"test", "tests", "__pycache__"}
TEXTS = {".py", ".txt", ".rst", ".cfg", ".toml", ".xml", ".json", ".decTest"}
PIECE = 500


@cache
def sources() -> tuple[str, ...]:
    """Every source file, as a path below ROOT."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path.stat().st_size < LARGEST)
    return tuple(sorted(str(path) for path in found if not NOT_WANTED & set(path.parts)))


@cache
def shelf() -> tuple[str, ...]:
    """Every text file of the Python installation, also its tests."""
    found = (path for path in ROOT.rglob("*") if path.suffix in TEXTS and path.stat().st_size < LARGEST)
    relative = (path.relative_to(ROOT) for path in found)
    return tuple(sorted(str(path) for path in relative if not INSTALLED & set(path.parts)))


def pieces(path: str) -> Iterator[dict[str, Any]]:
    """Chunks of a file, PIECE lines each, to be read as UTF-8."""
    lines = (ROOT / path).read_bytes().count(b"\n") + 1
    for begin in range(0, lines, PIECE):
        yield {"path": path, "lines": [begin, min(lines, begin + PIECE)], "encoding": "utf-8"}


@cache
def packages() -> tuple[str, ...]:
    """Every package with at least five modules."""
    found = (path for path in ROOT.iterdir() if path.is_dir() and path.name not in NOT_WANTED)
    return tuple(sorted(path.name for path in found if len(list(path.glob("*.py"))) >= 5))


@cache
def binaries() -> tuple[str, ...]:
    """Binary files: reading one as text is a real error. There is always one, the interpreter."""
    found = [*ROOT.glob("lib-dynload/*.so"), *ROOT.glob("__pycache__/*.pyc")]
    return tuple(sorted(str(path.relative_to(ROOT)) for path in found)) or (sys.executable,)


def any_source() -> str:
    """One of the sources."""
    return random.choice(sources())


def any_package() -> str:
    """One of the packages."""
    return random.choice(packages())


def any_binary() -> str:
    """One of the binary files."""
    return random.choice(binaries())


def modules_of(package: str) -> list[str]:
    """The source files of a package, as paths below ROOT."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / package).glob("*.py"))


def text_of(path: str) -> str:
    """The text of a file. Raises UnicodeDecodeError for one that is not text, and FileNotFoundError."""
    return (ROOT / path).read_text(encoding="utf-8")
