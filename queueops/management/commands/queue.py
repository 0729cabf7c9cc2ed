"""`manage.py queue`: the console's questions and actions in a terminal."""

from __future__ import annotations

from django.core.management.base import CommandParser

from queueops.management.operator_command import OperatorCommand
from queueops.management.queue.options import add_subcommands


class Command(OperatorCommand):
    """Ask and act; `--json` on each subcommand."""

    help = "See every state of every task, understand why one waits, and act on one or many."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand with its options."""
        add_subcommands(parser)
