"""Kind commands: the subcommands that a kind adds to `manage.py queue`, and options that several of them have."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from queueops.management.arguments import positive


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCommand:
    """One subcommand: what runs it with the options, its text in the help, and a function that adds its options.

    Each subcommand has `--json` as the option `as_json`.
    """

    name: str
    run: Callable[..., Iterator[str]]
    text: str
    add_options: Callable[[ArgumentParser], None]


KindCommands = tuple[KindCommand, ...]


def page_options(parser: ArgumentParser) -> None:
    """The options of a list with pages."""
    parser.add_argument("--limit", type=positive, default=50, help="rows, at most 200")
    parser.add_argument("--after", default="", metavar="POSITION", help="continue where a list ended (its `next`)")
