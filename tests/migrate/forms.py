"""The corpus: forms of the old queues, with what the migration makes of each and what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from queueops.migrate.project import Result, migrated

CORPUS = Path(__file__).parent / "corpus"
SECTION = re.compile(r"^--- (\w+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Form:
    """A form: its title, the rows of the guide that it is about, code before and after, and the report."""

    title: str
    rows: tuple[str, ...]
    before: str
    after: str
    says: tuple[str, ...]

    def __repr__(self) -> str:
        return self.title


def forms(system: str) -> list[Form]:
    """The forms of one file of the corpus."""
    found = []
    for text in (CORPUS / f"{system}.txt").read_text().split("=== ")[1:]:
        head, *rest = SECTION.split(text)
        title, *rows = head.strip().splitlines()
        parts = dict(zip(rest[::2], rest[1::2], strict=True))
        cited = tuple(row.removeprefix("row: ") for row in rows)
        says = tuple(parts.get("says", "").splitlines())
        found.append(Form(title, cited, parts["before"], parts["after"], says))
    return found


def migrate(folder: Path, system: str, text: str) -> tuple[Path, Result]:
    """The migration of a project with one module, `sample/tasks.py`; nothing is written."""
    package = folder / "sample"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    path = package / "tasks.py"
    path.write_text(text)
    return path, migrated(system, [folder])
