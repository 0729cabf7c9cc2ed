"""Kind commands: the subcommands that a kind adds to `manage.py queue`, and options that several of them have."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from queueops.errors.kinds import BadKind
from queueops.management.arguments import positive
from queueops.model import kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCommand:
    """One subcommand: what runs it with the options, its text in the help, and a function that adds its options.

    Each subcommand has `--json` as the option `as_json`.
    """

    name: str
    aliases: tuple[str, ...] = ()
    run: Callable[..., Iterator[str]]
    text: str
    add_options: Callable[[ArgumentParser], None]


KindCommands = tuple[KindCommand, ...]


def commands_of_kinds(own: Iterable[str]) -> list[KindCommand]:
    """The subcommands of all kinds. Raises BadKind for one that another kind has, or that is among ``own``."""
    owners, found = dict.fromkeys(own, "manage.py queue"), list[KindCommand]()
    for kind, commands in kinds.brought(kinds.registered(), "cli"):
        for each in commands:
            if each.name in owners:
                advice = "Rename it in one of them, or remove one of the packages."
                reason = f"{owners[each.name]} has the subcommand {each.name!r} already. {advice}"
                raise BadKind(name=kind.name, reason=reason)
            owners[each.name] = f"the kind {kind.name}"
            found.append(each)
    return found


def page_options(parser: ArgumentParser) -> None:
    """The options of a list with pages."""
    parser.add_argument("--limit", type=positive, default=50, help="rows, at most 200")
    parser.add_argument("--after", default="", metavar="POSITION", help="continue where a list ended (its `next`)")
