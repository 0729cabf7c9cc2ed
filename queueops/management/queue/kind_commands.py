"""Kind commands: the subcommands that a kind adds to `manage.py queue`, registered by its row."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass


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
