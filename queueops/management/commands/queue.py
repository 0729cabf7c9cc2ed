"""`manage.py queue`: the console's questions and actions in a terminal."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from queueops import conf
from queueops.management.operator_command import OperatorCommand
from queueops.management.queue import outbox
from queueops.management.queue.options import add_subcommands

OF_PROJECT = {command.name for command in outbox.COMMANDS}


class Command(OperatorCommand):
    """Ask and act; `--json` on each subcommand."""

    help = "See every state of every task, understand why one waits, and act on one or many."

    def add_arguments(self, parser: CommandParser) -> None:
        """The store, and one subcommand with its options."""
        parser.add_argument("--store", default="", help="a name in STORES (default: the project's own)")
        add_subcommands(parser)

    def handle(self, *args: Any, store: str = "", subcommand: str = "", **options: Any) -> None:
        """Run the subcommand on the store."""
        if store and store not in (known := conf.own().stores):
            listed = f"known are: {', '.join(known)}" if known else "QUEUEOPS['STORES'] is empty"
            raise CommandError(f"There is no store {store!r}; {listed}.", returncode=2)
        if store and subcommand in OF_PROJECT:
            raise CommandError("The outbox is in the project's database: leave --store out.", returncode=2)
        with conf.in_store(store):
            super().handle(*args, subcommand=subcommand, **options)
