"""Values of a task filter: numbers, durations and moments, each as the bounds of a range."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import NoReturn

from django.utils import timezone

from queueops.errors import FilterError
from queueops.model.sentences import Sentence, say

Bounds = tuple[int | None, int | None]
"""The least value, and the value that is too much; None: no bound."""

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|min|h|d|w)", re.IGNORECASE)
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_DAY = re.compile(r"\d{1,2}")


def number(operator: str, value: str, example: str) -> Bounds:
    """A whole number."""
    if ".." in value:
        return _range(value, lambda text: _whole(text, example), example)
    return _compared(operator, *_whole(value, example))


def span(operator: str, value: str, example: str) -> Bounds:
    """A duration such as `90s`, in milliseconds."""
    if ".." in value:
        return _range(value, lambda text: _span(text, example), example)
    if operator == ":":
        _wrong(value, say("a duration is compared or a range: write %(example)s", example=example))
    return _compared(operator, *_span(value, example))


def moment(operator: str, value: str, example: str) -> Bounds:
    """A day, or a moment of a day, in the current time zone: epoch milliseconds."""
    first, dots, last = value.partition("..")
    if not dots:
        return _compared(operator, *_moment(value, example))
    if last and first:
        last = _completed(first, last)
    return _range(f"{first}..{last}", lambda text: _moment(text, example), example)


def _compared(operator: str, begin: int, end: int) -> Bounds:
    """The range of a comparison with a value that lasts from `begin` to before `end`, such as a day."""
    return {":": (begin, end), ">": (end, None), ">=": (begin, None), "<": (None, begin), "<=": (None, end)}[operator]


def _range(value: str, read: Callable[[str], tuple[int, int]], example: str) -> Bounds:
    first, _, last = value.partition("..")
    if not (first or last):
        _wrong(value, say("a range has a begin or an end: write %(example)s", example=example))
    least, most = read(first)[0] if first else None, read(last)[1] if last else None
    if least is not None and most is not None and least >= most:
        _wrong(value, say("the range ends before it begins: exchange both values"))
    return least, most


def _whole(text: str, example: str) -> tuple[int, int]:
    if not re.fullmatch(r"-?\d{1,15}", text):
        _wrong(text, say("this is not a whole number: write %(example)s", example=example))
    return int(text), int(text) + 1


def _span(text: str, example: str) -> tuple[int, int]:
    if not (found := _SPAN.fullmatch(text)):
        _wrong(text, say("this is not a duration of ms, s, m, h, d or w: write %(example)s", example=example))
    ms = round(float(found[1]) * _UNITS[found[2].lower()])
    return ms, ms + 1


def _moment(text: str, example: str) -> tuple[int, int]:
    today = timezone.localtime(timezone=timezone.get_current_timezone()).date()
    days = {"today": today, "yesterday": today - timedelta(days=1)}
    if text.lower() in days:
        return _day(days[text.lower()])
    try:
        if _TIME.fullmatch(text):
            return _instant(datetime.combine(today, time.fromisoformat(text.zfill(len(text) + (text[1] == ":")))), text)
        if len(text) <= len("2026-11-27"):
            return _day(date.fromisoformat(text))
        return _instant(datetime.fromisoformat(text), text.partition("T")[2] or text.partition(" ")[2])
    except (ValueError, OverflowError):
        _wrong(text, say("this is not a day or a time: write %(example)s", example=example))


def _completed(first: str, last: str) -> str:
    """The end of a range, which may leave out what the begin says: `2026-11-27..28`."""
    if _DAY.fullmatch(last) and len(first) == len("2026-11-27"):
        return f"{first[:8]}{last.zfill(2)}"
    if _TIME.fullmatch(last) and len(first) > len("2026-11-27"):
        return f"{first[:10]}T{last}"
    return last


def _day(day: date) -> tuple[int, int]:
    return _ms(datetime.combine(day, time())), _ms(datetime.combine(day + timedelta(days=1), time()))


def _instant(at: datetime, clock: str) -> tuple[int, int]:
    """A minute, a second, or a millisecond, as its text is written."""
    lasts = 1 if "." in clock else 1000 if clock.count(":") > 1 else 60_000
    begin = _ms(at)
    return begin, begin + lasts


def _ms(at: datetime) -> int:
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.get_current_timezone())
    return int(at.timestamp() * 1000)


def _wrong(value: str, what: Sentence) -> NoReturn:
    raise FilterError(reason=say("%(value)s: %(reason)s.", value=repr(value), reason=what))
