"""Argument types of the management commands."""

from __future__ import annotations

import math
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError

from queueops.errors import BadId
from queueops.model.ids import check_lane

LONGEST = 86_400
DJANGOS = (("--settings", "--pythonpath"), ("--traceback", "--no-color", "--force-color", "--skip-checks"))
"""The options of Django's commands, and whether a value follows."""


def take_djangos_options(subcommand: ArgumentParser) -> None:
    """Accept the options of Django's commands after a subcommand's name too; its help does not repeat them."""
    valued, switches = DJANGOS
    for name in valued:
        subcommand.add_argument(name, default=SUPPRESS, help=SUPPRESS)
    for name in switches:
        subcommand.add_argument(name, action="store_true", default=SUPPRESS, help=SUPPRESS)
    subcommand.add_argument("-v", "--verbosity", type=int, choices=range(4), default=SUPPRESS, help=SUPPRESS)


def pool_name(text: str) -> str:
    """The name of a pool."""
    try:
        return check_lane(text, "name of a pool")
    except BadId as error:
        raise ArgumentTypeError(str(error)) from error


def seconds(text: str) -> float:
    """A number of seconds, from 0 to a day."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= LONGEST:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {LONGEST:,}")
    return number


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
