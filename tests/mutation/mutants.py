"""Mutants: single changes of a source, as a span of its text and what replaces it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.mutation import lua_source, python_source

ROOT = Path(__file__).parents[2]
AREAS: dict[str, tuple[str, ...]] = {
    "lua": ("queueops/**/*.lua",),
    "worker": ("queueops/worker/**/*.py", "queueops/watchdog/*.py", "queueops/redis/**/*.py"),
    "kinds": ("queueops/kinds/**/*.py", "queueops/schedules/*.py", "queueops/tasks/*.py", "queueops/results/*.py"),
    "console": ("console/**/*.py", "queueops/inspect/**/*.py", "queueops/control/*.py", "queueops/model/*.py"),
}
_READERS: dict[str, Callable[[str], Iterator[tuple[int, int, str]]]] = {
    ".py": python_source.changes,
    ".lua": lua_source.changes,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change: characters ``start`` to ``end`` of a file become ``new``."""

    path: str
    start: int
    end: int
    new: str
    text: str

    @property
    def line(self) -> int:
        """The number of the first changed line."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def changed(self) -> str:
        """The text of the file with the change."""
        return self.text[: self.start] + self.new + self.text[self.end :]

    def __str__(self) -> str:
        old = " ".join(self.text[self.start : self.end].split())
        new = " ".join(self.new.split())
        return f"{self.path}:{self.line}: `{old}` became `{new}`" if new else f"{self.path}:{self.line}: no `{old}`"


def sample(count: int, seed: int, area: str = "") -> list[Mutant]:
    """Random changes of the product: the same ones for a seed and a tree. Each area has its share."""
    random, found = Random(seed), []
    areas = [area] if area else list(AREAS)
    files = {name: _files(name) for name in areas}
    for number in range(count):
        name = areas[number % len(areas)]
        paths = files[name]
        while not (options := _mutants(random.choices(list(paths), list(paths.values()))[0])):
            continue
        found.append(random.choice(options))
    return found


def _files(area: str) -> dict[Path, int]:
    """The files of an area with their sizes: a larger one has more changes."""
    paths = sorted({path for pattern in AREAS[area] for path in ROOT.glob(pattern) if "migrations" not in path.parts})
    return {path: path.stat().st_size for path in paths}


def _mutants(path: Path) -> list[Mutant]:
    text = path.read_text()
    name = path.relative_to(ROOT).as_posix()
    return [
        Mutant(path=name, start=start, end=end, new=new, text=text) for start, end, new in _READERS[path.suffix](text)
    ]
