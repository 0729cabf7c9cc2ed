"""``manage.py queueops worker | watchdog | queue | ...``: reaches a command whose name another app uses, too."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from queueops.management.subcommands import SUBCOMMANDS, load


class Command(BaseCommand):
    """Forwards to the command of that name, with its options, its checks and its exit status."""

    help = "The commands of QueueOps. --help behind one of them shows its options."
    requires_system_checks: list[str] = []  # the named command runs its own checks

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the named command as Django does. Without a known name, the parser shows help or an error."""
        program, own, *rest = argv
        if rest and rest[0] in SUBCOMMANDS:
            load(rest[0]).run_from_argv([f"{program} {own}", *rest])
        else:
            super().run_from_argv(argv)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """Name the commands in the help, one a line."""
        lines = "\n".join(f"  {name:10} {load(name).help}" for name in SUBCOMMANDS)
        kwargs |= {"epilog": f"commands:\n{lines}", "formatter_class": RawDescriptionHelpFormatter}
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The name of a command, and the arguments for that command."""
        parser.add_argument("command", choices=list(SUBCOMMANDS), metavar="COMMAND", help="see below")
        parser.add_argument("arguments", nargs=REMAINDER, metavar="...", help="its options")

    def handle(self, *, command: str, arguments: list[str], **options: Any) -> Any:
        """Called from code: `call_command("queueops", "worker", "--burst")`."""
        streams = {name: options[name] for name in ("stdout", "stderr") if options.get(name)}
        return call_command(load(command), *arguments, **streams)
