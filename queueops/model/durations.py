"""Durations and moments: seconds, a `timedelta`, or an aware datetime, converted to milliseconds."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone

from queueops.errors import BadOption

MAX_MS = 100 * 365 * 86_400_000
Delay = float | timedelta | datetime


class When(NamedTuple):
    """A moment: `due_ms` of the epoch, or `delay_ms` from now by the clock of Redis. Both None: at once."""

    due_ms: int | None = None
    delay_ms: int | None = None


AT_ONCE = When()


def to_ms(name: str, value: float | timedelta) -> int:
    """A duration in milliseconds. Raises BadOption for a negative one, one over a hundred years, or another type."""
    seconds: object = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise BadOption(name=name, value=value, expected="seconds (a number) or a timedelta")
    if not abs(seconds) < math.inf:  # NaN, too; math.isfinite() raises OverflowError for 10 ** 400
        raise BadOption(name=name, value=value, expected="seconds (a number) or a timedelta")
    if not 0 <= seconds * 1000 <= MAX_MS:
        raise BadOption(name=name, value=value, expected="from 0 seconds to a hundred years")
    return math.ceil(seconds * 1000)


def signed_ms(name: str, value: float | timedelta) -> int:
    """The same for a duration that may be negative."""
    seconds: Any = value.total_seconds() if isinstance(value, timedelta) else value
    is_negative = isinstance(seconds, (int, float)) and seconds < 0
    return -to_ms(name, -seconds) if is_negative else to_ms(name, value)


def when(name: str, value: Delay) -> When:
    """The moment that a delay or a datetime means; a past datetime means at once.

    In a project without USE_TZ, where `timezone.now()` is naive, a naive datetime is in the project's time zone.
    """
    if not isinstance(value, (int, float, timedelta, datetime)):
        raise BadOption(name=name, value=value, expected="seconds (a number), a timedelta or an aware datetime")
    if not isinstance(value, datetime):
        return When(delay_ms=to_ms(name, value))
    if timezone.is_naive(value) and not settings.USE_TZ:
        value = timezone.make_aware(value, timezone.get_default_timezone())
    if timezone.is_naive(value):
        raise BadOption(name=name, value=value, expected="an aware datetime (django.utils.timezone.now() gives one)")
    return When(due_ms=max(1, int(value.timestamp() * 1000)))
