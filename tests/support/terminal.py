"""`manage.py queue` in this process, with the options of all subcommands made once: they need 30 ms of CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import StringIO
from typing import Any

import pytest
from django.core.management.base import CommandParser

from queueops.management.commands.queue import Command
from queueops.model import kinds
from queueops.model.kind import Kind


@contextmanager
def options_made_once() -> Iterator[None]:
    """Let a thousand calls of the command share their parser; other kinds, and a real command line, have their own."""
    make = Command.create_parser

    @cache
    def made(program: str, _: tuple[Kind, ...], in_shell: bool) -> CommandParser:
        command = Command()
        command._called_from_command_line = in_shell
        return make(command, program, "queue")

    def create_parser(command: Command, program: str, name: str, **options: Any) -> CommandParser:
        return made(program, kinds.registered(), command._called_from_command_line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Command, "create_parser", create_parser)
        yield


def ask(*words: str) -> str:
    """What a subcommand prints; with the status of a check that found something, too."""
    out, command = StringIO(), Command()
    given = vars(command.create_parser("manage.py", "queue").parse_args(words))
    with suppress(SystemExit):  # the check has found something
        command.execute(**given | {"stdout": out, "stderr": StringIO(), "skip_checks": True})
    return out.getvalue()
