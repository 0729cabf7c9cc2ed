"""Times in pages: relative to now, with the exact time in the user's zone on hover. `times.js` keeps them current."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from time import time
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from console.ui import dates, formatting
from console.ui.markup import markup


def ago(ms: int | None) -> SafeString | str:
    """A time, relative to now; the exact time on hover."""
    if not ms:
        return formatting.NOTHING
    told = '<time datetime="{}" title="{}" data-ms="{}">{}</time>'
    return markup(told, *_written(ms), ms, formatting.ago(ms, time() * 1000))


def since(ms: int | None) -> SafeString | str:
    """The elapsed time, without the word "ago", in whole seconds from 10 s on; the exact time on hover."""
    if not ms:
        return formatting.NOTHING
    elapsed = max(0.0, time() * 1000 - ms)
    text = formatting.span(elapsed - (elapsed % 1000 if elapsed >= 10_000 else 0))
    return markup('<time datetime="{}" title="{}" data-ms="{}" data-plain>{}</time>', *_written(ms), ms, text)


def exact(ms: int | None) -> str:
    """A time with date and zone."""
    return _written(ms)[1] if ms else formatting.NOTHING


def exact_second(ms: int | None, zone: str = "") -> str:
    """A time to the second, in the user's zone or another one."""
    if not ms:
        return formatting.NOTHING
    local = timezone.localtime(moment(ms), ZoneInfo(zone) if zone else None)
    return f"{dates.second(local)} {local.tzname()}"


def moment(ms: float) -> datetime:
    """A time of the store; 1970 for a number that is none."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _written(ms: int) -> tuple[str, str]:
    return _kept(ms, timezone.get_current_timezone(), get_language())


@lru_cache(maxsize=4096)
def _kept(ms: int, zone: tzinfo, _language: str | None) -> tuple[str, str]:
    """A time for programs and for readers; the live updates of a list have the same times again."""
    at = moment(ms)
    local = at.astimezone(zone)
    told = f"{dates.second(local)}{formatting.local('.')}{local.microsecond // 1000:03d} {local.tzname()}"
    return at.isoformat(timespec="milliseconds"), told
