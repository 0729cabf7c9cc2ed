"""``manage.py queueops doctor``: whether everything is well, and what to do where it is not."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from queueops.management.doctor import examine
from queueops.management.doctor.finding import FAIL, WARN, Finding
from queueops.management.process_command import ProcessCommand
from queueops.management.queue.formatting import counted, printable


class Command(ProcessCommand):
    """Prints each finding; the exit status is 1 if anything fails."""

    help = "Examine settings, store, database, processes, files and proxy; each fault has a remedy."
    requires_system_checks: list[str] = []  # it makes them itself, and goes on behind an error

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How to answer, and what else to ask."""
        parser.add_argument("--json", action="store_true", help="answer with one JSON object")
        parser.add_argument("--strict", action="store_true", help="exit status 1 for warnings, too")
        help_url = "where clients find the console, such as https://ops.example.org/ops/: asked as a browser does"
        parser.add_argument("--url", default="", metavar="URL", help=help_url)

    def handle(self, *, url: str, json: bool, strict: bool, **options: Any) -> None:
        """Examine and print. Nothing is changed."""
        found = examine(url)
        self.stdout.write(_as_json(found) if json else _as_text(found))
        levels = {each.level for each in found}
        if FAIL in levels or (strict and WARN in levels):
            raise SystemExit(1)


def _as_json(found: Sequence[Finding]) -> str:
    return json.dumps({"ok": not _count(found, FAIL), "findings": [each._asdict() for each in found]})


def _as_text(found: Sequence[Finding]) -> str:
    """One line for each finding and its remedy; what several checks have in common stands once."""
    by_text: dict[tuple[str, str, str], list[str]] = {}
    for check, *rest in found:
        by_text.setdefault((rest[0], rest[1], rest[2]), []).append(check)
    lines = []
    for (level, seen, remedy), checks in by_text.items():
        lines.append(f"{level:5} {', '.join(checks)}: {printable(seen)}")
        if remedy:
            lines.append(f"      -> {printable(remedy)}")
    faults, warnings = _count(found, FAIL), _count(found, WARN)
    lines.append(f"{counted(faults, 'fault', 'faults')}, {counted(warnings, 'warning', 'warnings')}.")
    return "\n".join(lines)


def _count(found: Sequence[Finding], level: str) -> int:
    return sum(each.level == level for each in found)
