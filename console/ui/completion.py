"""Completion of the search line of tasks: fields, then values with their counts, by the text before the cursor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

from django.utils import timezone

from console.ui.formatting import count
from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.inspect.filter_text import FIELDS, Field, condition_text
from queueops.inspect.redaction import conceals

MOST = 12
FEW = 4
"""With fewer values from the counters, a look-up of names and lanes adds others."""
SHORTEST = 2
TOKEN = re.compile(r'(?:^|(?<=[\s(]))(-?)([^\s()":=<>]*)(?:(:|=|>=|<=|>|<)"?([^()"\s]*))?$')
COUNTED = ("state", "name", "lane", "pool", "kind", "tag")
SEVERAL = ("state", "kind")
"""Fields that may have several values, with commas between them."""
SPANS = ("30s", "10m", "1h", "1d")


class Option(NamedTuple):
    """What the search line offers: the text in place of the one from `begin` on, and what stands beside it."""

    begin: int
    text: str
    about: str


def options(text: str) -> list[Option]:
    """At most twelve options for the end of a text."""
    if not (found := TOKEN.search(text)):
        return []
    sign, field, operator, part = found.groups()
    begin = found.start() + len(sign)
    if operator is None:
        return [Option(begin, *each) for each in _fields(field.lower())][:MOST]
    if (field := field.lower()) not in FIELDS:
        return []
    before, comma, part = part.rpartition(",") if field in SEVERAL else ("", "", part)
    values = [(f"{before}{comma}{value}", about) for value, about in _values(field, part)]
    return [Option(begin, _written(field, operator, value), about) for value, about in values][:MOST]


def permitted() -> dict[str, Field]:
    """The fields that the current user may search by."""
    return {name: field for name, field in FIELDS.items() if name != "text" or not conceals()}


def _written(field: str, operator: str, value: str) -> str:
    return condition_text(field, ":" if operator == "=" else operator, value)


def _fields(part: str) -> Iterator[tuple[str, str]]:
    """The fields that begin with a part; else names that contain it."""
    begun = [name for name in permitted() if name.startswith(part)]
    yield from ((re.sub(r"(:|>=|>|<).*", r"\1", FIELDS[name].example), FIELDS[name].about) for name in begun)
    if not begun:
        yield from ((_written("name", ":", value), about) for value, about in _values("name", part))


def _values(field: str, part: str) -> list[tuple[str, str]]:
    """The values of a field that contain a part, those that begin with it first."""
    known = list(_KNOWN[field]() if field in _KNOWN else _counted(field))
    wanted = part.casefold().strip("*")
    labels = {lane: inspect.lane_label(lane) for lane, _about in known} if field == "lane" else {}
    fitting = [
        (value, _labelled(value, labels.get(value, value), about))
        for value, about in known
        if wanted in f"{value} {labels.get(value, '')}".casefold()
    ]
    if field in ("name", "lane") and len(fitting) < FEW and len(wanted) >= SHORTEST:
        found = inspect.look_up(wanted, MOST)
        more = found.names if field == "name" else [lane.name for lane in found.lanes]
        fitting += [(value, "") for value in more if value not in dict(fitting)]
    return sorted(fitting, key=lambda each: not each[0].casefold().startswith(wanted))


def _labelled(value: str, label: str, about: str) -> str:
    """What stands beside a value: its label, if that is another text, and the count."""
    return about if label == value else ", ".join(filter(None, (label, about)))


def _counted(field: str) -> Iterator[tuple[str, str]]:
    if field in COUNTED:
        found = inspect.facets(TaskQuery())[field]
        for value, number in sorted(found, key=lambda each: each[1] == 0):
            yield value, "" if number is None else count(number)


def _errors() -> Iterable[tuple[str, str]]:
    numbers = Counter[str]()
    for row in inspect.errors(MOST * 4):
        numbers[row.type.rpartition(".")[2]] += row.failed
    return [(name, count(number)) for name, number in numbers.most_common() if name]


def _hosts() -> Iterable[tuple[str, str]]:
    return [(host, "") for host in sorted({row.host for row in inspect.workers()})]


def _days() -> Iterable[tuple[str, str]]:
    today = timezone.localtime(timezone=timezone.get_current_timezone()).date()
    week = today - timedelta(days=6)
    return [("today", today.isoformat()), ("yesterday", ""), (f"{week}..{today}", ""), (today.isoformat(), "")]


def _spans() -> Iterable[tuple[str, str]]:
    return [(span, "") for span in SPANS]


_KNOWN: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
    "error": _errors,
    "worker": _hosts,
    **dict.fromkeys(("age", "waited", "ran"), _spans),
    **dict.fromkeys(("pushed", "started", "ended", "due"), _days),
    **dict.fromkeys(("text", "id", "parent", "attempts", "crashes", "priority"), list),
}
