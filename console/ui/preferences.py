"""Preferences of a browser: theme, rows, time zone, live updates and keys. Stored in cookies, checked when read.

The columns of lists belong to the user: `console.ui.columns` has them.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from functools import cache
from typing import Self

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

THEMES = ("auto", "light", "dark")
ROWS = ("normal", "compact")
PACES = ("0", "1", "2", "5", "15", "60")  # seconds between two polls; 0 = only when asked
YEAR = 365 * 86400
PREFIX = "queueops_"


@cache
def zones() -> tuple[str, ...]:
    """The names of all time zones, sorted."""
    return tuple(sorted(name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC"))


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """A user's choices; a missing or invalid one is the default."""

    theme: str = "auto"
    rows: str = "normal"  # of lists of tasks, on a wide screen
    zone: str = ""  # "" = the project's TIME_ZONE
    pace: str = "2"
    keys: str = "on"

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        """Read the request's cookies."""
        return cls.checked({name: request.COOKIES.get(PREFIX + name, "") for name in cls.__struct_fields__})

    @classmethod
    def checked(cls, values: dict[str, str]) -> Self:
        """Keep only allowed values."""
        return cls(**{name: value for name, value in values.items() if name in ALLOWED and ALLOWED[name](value)})

    @property
    def zone_name(self) -> str:
        """The time zone of shown times."""
        return self.zone or timezone.get_default_timezone_name()

    def keep(self, request: HttpRequest, response: HttpResponse) -> None:
        """Write all values as cookies, hidden from scripts."""
        for name in self.__struct_fields__:
            response.set_cookie(
                PREFIX + name, getattr(self, name), YEAR, samesite="Lax", secure=request.is_secure(), httponly=True
            )


ALLOWED: dict[str, Callable[[str], bool]] = {
    "theme": THEMES.__contains__,
    "rows": ROWS.__contains__,
    "zone": lambda value: value in zones(),
    "pace": PACES.__contains__,
    "keys": ("on", "off").__contains__,
}
