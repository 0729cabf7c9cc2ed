"""Command: `python -m queueops.migrate celery PATH ... [--write]`.

Exit codes: 0, no form is left to do by hand; 1, some are; 2, the command line is wrong; 3, a file cannot be read.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

from queueops.migrate.notes import CHECK, LEFT, Note

NO_LIBCST = "The migration needs libcst. Run: pip install 'queueops[migrate]'"
DONE, BY_HAND, WRONG_CALL, UNREADABLE = range(4)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and answer its exit code."""
    options = _parser().parse_args(arguments)
    missing = [path for path in options.paths if not path.exists()]
    if missing:
        print(f"There is no {missing[0]}. Give folders or files of Python.", file=sys.stderr)
        return WRONG_CALL
    try:
        import libcst  # noqa: F401  it is an extra
    except ImportError:
        print(NO_LIBCST, file=sys.stderr)
        return WRONG_CALL
    return _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m queueops.migrate",
        description="Rewrite the code of a task queue for QueueOps. Prints a diff, and what is left to do by hand.",
        epilog="Exit codes: 0, nothing is left to do by hand; 1, some is; 2, wrong usage; 3, a file is unreadable.",
    )
    parser.add_argument("system", choices=("celery", "rq", "huey"))
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="folders or files: the whole project")
    parser.add_argument("--write", action="store_true", help="change the files; without it, print a diff")
    parser.add_argument("--broker", choices=("redis", "amqp"), default="", help="of Celery: which priority goes first")
    return parser


def _run(options: argparse.Namespace) -> int:
    from queueops.migrate.project import migrated

    result = migrated(options.system, options.paths, options.broker)
    for path, reason in result.unreadable:
        print(f"{path}: skipped: {reason}", file=sys.stderr)
    for change in result.changes:
        if options.write:
            change.path.write_bytes(change.after.encode(change.encoding))
        else:
            sys.stdout.writelines(_diff(change.path, change.before, change.after))
    for note in sorted(result.notes):
        print(note)
    print(_summary(result.notes, len(result.changes), result.tasks, written=options.write))
    if result.unreadable:
        return UNREADABLE
    return BY_HAND if any(note.kind == LEFT for note in result.notes) else DONE


def _diff(path: Path, before: str, after: str) -> list[str]:
    name = str(path).lstrip("/")
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


def _summary(notes: Sequence[Note], files: int, tasks: int, *, written: bool) -> str:
    left = sum(note.kind == LEFT for note in notes)
    check = sum(note.kind == CHECK for note in notes)
    verb = "changed" if written else "to change"
    return f"{tasks} tasks rewritten, {files} files {verb}, {left} forms left to do by hand, {check} to check"
