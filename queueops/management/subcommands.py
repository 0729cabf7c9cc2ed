"""Subcommands of `manage.py queueops`: our management commands under a name that no other app shadows."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from django.core.management.base import BaseCommand


class Subcommand(NamedTuple):
    """A management command, and the app that brings it."""

    app: str
    command: str


SUBCOMMANDS: dict[str, Subcommand] = {
    "worker": Subcommand("queueops", "runworker"),
    "watchdog": Subcommand("queueops", "watchdog"),
    "queue": Subcommand("queueops", "queue"),
    "embedded": Subcommand("queueops", "embedded"),
    "doctor": Subcommand("queueops", "doctor"),
}
"""The subcommands by name. An app adds its own when it is ready."""


def load(name: str) -> BaseCommand:
    """The management command of a subcommand, wherever its app stands in INSTALLED_APPS."""
    found = SUBCOMMANDS[name]
    command: BaseCommand = import_module(f"{found.app}.management.commands.{found.command}").Command()
    return command
