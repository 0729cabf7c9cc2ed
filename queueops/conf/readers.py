"""Readers of settings: each function validates and converts one type of value, or raises Unfit.

The text of an `Unfit` ends the sentence "it must be ...".
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from queueops.errors import BadId, advice
from queueops.model.ids import check_lane
from queueops.model.redact import MASK

DAY, TEN_YEARS = 86_400, 10 * 366 * 86_400
"""Maximum seconds of a duration for which a process waits, and of any other duration."""
Value = TypeVar("Value")
Chosen = TypeVar("Chosen", bound=StrEnum)
Reader = Callable[[Any], Value]

ONE_SERVER = ("redis", "rediss", "valkey", "valkeys")
NETWORK = (*ONE_SERVER, *(f"{scheme}+{kind}" for kind in ("sentinel", "cluster") for scheme in ONE_SERVER))
SCHEMES = ("embedded", "unix", *NETWORK)
_NO_PORT = re.compile(r"[^@\[]*:[^@,\[]*[^@,0-9\[][^@\[]*$")


class Unfit(ValueError):
    """An invalid value; the text says what it must be. `path` leads to the invalid part `value`."""

    def __init__(self, expected: str, path: tuple[str, ...] = (), value: Any = None) -> None:
        super().__init__(expected)
        self.expected, self.path, self.value = expected, path, value

    def inside(self, key: str, value: Any) -> Unfit:
        """The same error, seen from the dict that holds the value under `key`."""
        return type(self)(self.expected, (key, *self.path), self.value if self.path else value)


class Unknown(Unfit):
    """An unknown key; the text is the advice."""


def whole(least: int, most: int | None = None) -> Reader[int]:
    """A whole number from `least` to `most`."""
    expected = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"

    def read(value: Any) -> int:
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value < least
            or (most is not None and value > most)
        ):
            raise Unfit(expected)
        return value

    return read


def number(least: float, most: float) -> Reader[float]:
    """A number from `least` to `most`."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise Unfit(f"a number from {least:g} to {most:,.0f}")
        return float(value)

    return read


def seconds(least: float, most: float = TEN_YEARS) -> Reader[float]:
    """A duration in seconds, or a timedelta, from `least` to `most` seconds."""

    def read(value: Any) -> float:
        number = value.total_seconds() if isinstance(value, timedelta) else value
        if isinstance(number, bool) or not isinstance(number, int | float) or not least <= number <= most:
            raise Unfit(f"a number of seconds or a timedelta, from {least:g} to {most:,.0f}")
        return float(number)

    return read


def optional(reader: Reader[Value]) -> Reader[Value | None]:
    """None, or the value that `reader` reads."""

    def read(value: Any) -> Value | None:
        return None if value is None else reader(value)

    return read


def flag(value: Any) -> bool:
    """True or False, but not another value that is equal to one of them."""
    if not isinstance(value, bool):
        raise Unfit("True or False")
    return value


def name(value: Any) -> str:
    """A name of a pool or a lane."""
    try:
        return check_lane(value)
    except BadId as error:
        raise Unfit(f"named with 1 to {error.most} letters, digits and any of . _ : @ / = + -") from error


def lane_or_pattern(value: Any) -> str:
    """A name of a lane, or a pattern of names, in which each * stands for any characters."""
    if isinstance(value, str) and "*" in value:
        name(value.replace("*", "x"))
        return value
    return name(value)


def namespace(value: Any) -> str:
    """The prefix of every key: short, and without braces, which have a meaning in Redis Cluster."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,50}", value):
        raise Unfit("1 to 50 letters, digits and any of . _ -")
    return value


def url(value: Any) -> str:
    """The store's URL; only its syntax is checked here."""
    if not isinstance(value, str) or not value:
        raise Unfit('a URL such as "embedded:var/queueops" or "redis://127.0.0.1:6379/0"')
    scheme, colon, rest = value.partition(":")
    if scheme not in SCHEMES:
        near = difflib.get_close_matches(scheme, SCHEMES, n=1) if colon else ()
        raise Unfit(f"a URL that begins with {', '.join(f'{word}:' for word in near or SCHEMES)}")
    if scheme == "embedded" and not rest.strip("/"):
        raise Unfit('"embedded:" and the directory of its data, such as "embedded:var/queueops"')
    if scheme != "embedded" and not rest.removeprefix("//").strip("/"):
        raise Unfit(f'"{scheme}://" and an address')
    address = re.split("[/?#]", rest.removeprefix("//"), maxsplit=1)[0]
    if scheme in NETWORK and "@" in rest and _NO_PORT.match(address):
        raise Unfit("a URL in whose password a / is written as %2F, a ? as %3F and a # as %23")
    host = address.rpartition("@")[2]
    if scheme in ONE_SERVER and not host.partition(":")[0]:
        raise Unfit(f'"{scheme}://" and a host, such as "{scheme}://127.0.0.1:6379/0"')
    return value


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise Unfit("a text")
    return value


def dotted(example: str) -> Reader[str]:
    """A dotted path of a class or function, or "". Whether it can be imported is checked where it is used."""

    def reader(value: Any) -> str:
        if value == "":
            return ""
        if not isinstance(value, str) or "." not in value or not all(part.isidentifier() for part in value.split(".")):
            raise Unfit(f'a dotted path, such as "{example}"')
        return value

    return reader


def short_text(value: Any) -> str:
    """A text for a mark on a page."""
    if not isinstance(value, str) or not 1 <= len(value.strip()) <= 40 or not value.isprintable():
        raise Unfit("a text of 1 to 40 printable characters")
    return value.strip()


def slug(value: str) -> str:
    """A name that stands in a URL."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,29}", value):
        raise Unfit('named with 1 to 30 small letters, digits and -, such as "eu"')
    return value


def token(value: Any) -> str:
    """A secret that a header can carry; empty for none."""
    if not isinstance(value, str) or (value and not re.fullmatch(r"[!-~]{16,}", value)):
        raise Unfit("a text of 16 or more letters, digits and signs, without spaces")
    return value


def trace_url(value: Any) -> str:
    """A template of a link to a trace; empty for none."""
    is_text = isinstance(value, str) and value.isprintable() and " " not in value
    link = value.replace("{trace_id}", "0") if is_text else "://"
    if value != "" and not (re.match(r"https?://[^/]", link) and link != value and not re.search("[{}]", link)):
        raise Unfit('a URL with the place of the id, such as "https://tracing.example/trace/{trace_id}"')
    return str(value)


def given(value: Any) -> Any:
    """Any value."""
    return value


def choice(kind: type[Chosen]) -> Reader[Chosen]:
    """A value of an enumeration of texts."""

    def read(value: Any) -> Chosen:
        if not isinstance(value, str) or value not in [str(each) for each in kind]:
            raise Unfit(f"one of {', '.join(json.dumps(str(each)) for each in kind)}")
        return kind(value)

    return read


def reserved(why: str) -> Reader[Any]:
    """A key that is always refused: another setting decides it."""

    def read(value: Any) -> Any:
        raise Unfit(f"left out: {why}")

    return read


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise Unfit("a list of texts")
    if not all(isinstance(item, str) and item for item in value):
        raise Unfit("a list of texts, none of them empty")
    return tuple(value)


class Hidden(str):
    """A text whose repr does not tell it: reports of errors show the variables of functions."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)


def keys(value: Any) -> tuple[str | None, ...]:
    """A list of keys of Fernet, whose text is not told. The first may be None: then the others only decrypt."""
    expected = "a list of keys, each as Fernet.generate_key() makes it: 32 bytes in URL-safe base64"
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise Unfit(expected)
    found = [each.decode("latin-1") if isinstance(each, bytes) else each for each in value]
    for number, each in enumerate(found, start=1):
        if each is None and number == 1:
            continue
        if not isinstance(each, str) or not re.fullmatch(r"[\w-]{43}=", each, re.ASCII):
            raise Unfit(f"{expected}; key {number} is not one")
    return tuple(each if each is None else Hidden(each) for each in found)


def modules(value: Any) -> tuple[str, ...]:
    """Names of modules within an app, such as "jobs.background"."""
    expected = 'a list of modules within each app, such as ["tasks", "jobs.background"]'
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise Unfit(expected)
    for each in value:
        if not isinstance(each, str) or not all(part.isidentifier() for part in each.split(".")):
            raise Unfit(f"{expected}; {each!r} is not the name of a module, without the app and without .py")
    return tuple(value)


def anything(value: Any) -> dict[str, Any]:
    """A dict with texts as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise Unfit("a dict with texts as keys")
    return dict(value)


def table(
    readers: Mapping[str, Reader[Any]], refused: Mapping[str, Reader[Any]] | None = None
) -> Reader[dict[str, Any]]:
    """A dict with these keys only; the readers of `refused` keys give the reason."""

    def read(value: Any) -> dict[str, Any]:
        return {
            key: _item(refused if refused and key in refused else readers, key, item)
            for key, item in anything(value).items()
        }

    return read


def each(reader: Reader[Value], key: Reader[str] = name) -> Reader[dict[str, Value]]:
    """A dict; `key` reads its keys (any text by default), `reader` its values."""
    read_key = key

    def read(value: Any) -> dict[str, Value]:
        return {read_key(key): _item({key: reader}, key, item) for key, item in anything(value).items()}

    return read


def _item(readers: Mapping[str, Reader[Any]], key: str, value: Any) -> Any:
    if key not in readers:
        raise Unknown(advice(key, readers), (key,), value)
    try:
        return readers[key](value)
    except Unfit as unfit:
        raise unfit.inside(key, value) from None
