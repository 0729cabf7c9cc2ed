"""Argument types of the management commands."""

from __future__ import annotations

import json
import math
import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from typing import Any

from queueops.errors import BadId, advice
from queueops.model import kinds
from queueops.model.ids import check_lane
from queueops.model.redact import mask_in
from queueops.model.states import CONTAINERS

LONGEST = 86_400
PATTERN = re.compile(r"[A-Za-z0-9._:@/=+*\-]{1,100}")
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


def lane_pattern(text: str) -> str:
    """A pattern of lanes: a name in which `*` stands for any characters."""
    if not PATTERN.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is not a pattern of lanes, such as 'to:*' or 'mail'")
    return text


def kind_of_record(text: str) -> str:
    """A kind of record that workers run, or `!` and one that they leave."""
    found = {"task", *(record for kind in kinds.registered() for record in kind.records)}
    known = sorted(found.difference(CONTAINERS))
    name = text.removeprefix("!")
    if name not in known:
        raise ArgumentTypeError(f"{text!r} is not a kind that workers run: {', '.join(known)}{advice(name, known)}")
    return text


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


def days(text: str) -> int:
    """A number of days, in seconds."""
    return positive(text) * 86_400


def delay(text: str) -> float:
    """A number of seconds from now."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds, such as 3600") from None


def number_or_none(text: str) -> int:
    """A whole number of at least 1; 0 stands for none."""
    return 0 if text == "none" else positive(text)


def rate_or_none(text: str) -> float:
    """A rate in starts a second; 0 stands for none."""
    if text == "none":
        return 0
    try:
        found = float(text)
    except ValueError:
        found = 0
    if not found > 0:
        raise ArgumentTypeError(f"{text!r} is not a rate; give a number, such as 0.5, or none")
    return found


def any_json(text: str) -> Any:
    """Any JSON value, but without masked parts of a shown value."""
    if mask := mask_in(text):
        raise ArgumentTypeError(f"replace every {mask} by its value")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"this is no JSON: {error}") from error


def json_list(text: str) -> list[Any]:
    """A JSON list."""
    value = any_json(text)
    if not isinstance(value, list):
        raise ArgumentTypeError("""write a JSON list, such as '[42, "a"]'""")
    return value


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    value = any_json(text)
    if not isinstance(value, dict):
        raise ArgumentTypeError("""write a JSON object, such as '{"key": 1}'""")
    return value
