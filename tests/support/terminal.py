"""`manage.py queue` in this process: for walks with hundreds of calls, since its options take 12 ms to make."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from io import StringIO

from django.core.management.base import CommandParser

from queueops.management.commands.queue import Command


@cache
def _parser() -> CommandParser:
    return Command().create_parser("manage.py", "queue")


def ask(*words: str) -> str:
    """What a subcommand prints; with the status of a check that found something, too."""
    out, given = StringIO(), vars(_parser().parse_args(words))
    with suppress(SystemExit):  # the check has found something
        Command().execute(**given | {"stdout": out, "stderr": StringIO(), "skip_checks": True})
    return out.getvalue()
