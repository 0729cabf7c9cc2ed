"""Project: reads all files, surveys them, and rewrites one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, TokenError, generate_tokens

from queueops.migrate.names import Names
from queueops.migrate.notes import Note, Notes
from queueops.migrate.sources import Source, Unreadable, python_files, read
from queueops.migrate.survey import Project, survey


@dataclass(frozen=True)
class Change:
    """A file with another text."""

    path: Path
    before: str
    after: str
    encoding: str


@dataclass
class Result:
    """What a migration did, or would do."""

    changes: list[Change] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    tasks: int = 0


def migrated(system: str, paths: Sequence[Path], broker: str = "") -> Result:
    """Rewrite the Python files of these paths, in memory."""
    rules = import_module(f"queueops.migrate.{system}")
    result, sources = Result(), []
    for path, root in python_files(paths):
        try:
            sources.append(read(path, root))
        except Unreadable as error:
            result.unreadable.append((path, str(error)))
    project = survey(sources, rules.WORDS, rules.FINDERS)
    project.broker = broker or project.broker
    result.tasks = sum(not task.converted and not task.blockers for task in project.tasks.values())
    for source in sources:
        if names := project.names.get(str(source.path)):
            _rewrite(rules, project, names, source, result)
    return result


def _rewrite(rules: object, project: Project, names: Names, source: Source, result: Result) -> None:
    notes = Notes(source.path)
    after: str = rules.rewrite(project, names, notes)  # type: ignore[attr-defined]
    if after != source.text:
        result.changes.append(Change(source.path, source.text, after, source.encoding))
        for comment in _comments(source.text) - _comments(after):
            notes.check(0, comment, "the comment went with the code that it stood beside")
    result.notes += notes.found


def _comments(text: str) -> Counter[str]:
    try:
        return Counter(token.string for token in generate_tokens(StringIO(text).readline) if token.type == COMMENT)
    except (TokenError, SyntaxError):
        return Counter()
