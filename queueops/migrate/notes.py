"""Notes: what the migration left as it is, and what an engineer should check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LEFT, CHECK = "left", "check"


@dataclass(frozen=True, order=True)
class Note:
    """One line of the report. A form that is LEFT was not rewritten; one to CHECK was."""

    path: Path
    line: int
    kind: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.what}: {self.why}"


class Notes:
    """The notes of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: set[Note] = set()

    def left(self, line: int, what: str, why: str) -> None:
        """Note a form that stays as it is."""
        self.found.add(Note(self.path, line, LEFT, what, why))

    def check(self, line: int, what: str, why: str) -> None:
        """Note a form that was rewritten, and whose effect may differ."""
        self.found.add(Note(self.path, line, CHECK, what, why))
