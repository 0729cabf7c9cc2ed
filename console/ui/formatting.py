"""Formatting: numbers, durations and sizes as readable text. Pure functions; `times.js` writes the same texts."""

from __future__ import annotations

import math

from django.utils.translation import gettext as _

from queueops.model import retry
from queueops.model.durations import to_ms
from queueops.model.sentences import ENGLISH, Figure, language

NARROW = "\N{NARROW NO-BREAK SPACE}"
NOTHING = "–"
GREATEST = 1e15
"""Numbers from this size on are written with an exponent."""
UNITS = ((86_400_000.0, "d"), (3_600_000.0, "h"), (60_000.0, "min"), (1000.0, "s"))


def local(text: str) -> str:
    """A number as English writes it, with the separators of the user's language: 12,345.6 is 12.345,6 in German."""
    if "." not in text and "," not in text:
        return text
    return Figure(text).translated() if language() != ENGLISH else text


def count(number: float | None) -> str:
    """A whole number with separators: 12,345."""
    if number is None or not math.isfinite(number):
        return NOTHING
    return local(f"{int(number):,}" if abs(number) < GREATEST else f"{number:.3g}")


def short(number: float | None) -> str:
    """A short number: 12.3k, with at most four characters and a letter."""
    if number is None:
        return NOTHING
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= limit:
            scaled = number / (1e3 if letter == "k" else limit)
            return local(f"{scaled:.3g}{letter}" if scaled < 1000 else f"{scaled:.0f}{letter}")
    return count(number)


def rate(number: float | None) -> str:
    """A rate per second."""
    if number is None:
        return NOTHING
    if number >= 100:
        return short(round(number))
    if 0 < number < 0.005:
        return local("<0.01")
    return "0" if number <= 0 else local(f"{number:.2f}" if number < 1 else f"{number:.1f}")


def percent(share: float | None) -> str:
    """A fraction of one, in percent."""
    if share is None:
        return NOTHING
    return _percent("0" if share <= 0 else "<0.1" if share < 0.001 else f"{round(share * 100, 1):g}")


def share(part: float | None) -> str:
    """A fraction of one in percent, for a large figure: two digits."""
    if part is None or part < 0.001:
        return percent(part)
    return _percent(f"{part * 100:.1f}" if part < 0.0995 else f"{part * 100:.0f}")


def _percent(number: str) -> str:
    return _("%(number)s%%") % {"number": local(number)}


def span(ms: float | None) -> str:
    """A duration: 840 ms, 1.2 s, 5 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if ms is None:
        return NOTHING
    if ms < 1000:
        return f"{ms:.0f}{NARROW}ms" if ms >= 10 or ms == int(ms) else local(f"{ms:.1f}{NARROW}ms")
    if ms < 60_000:
        return local(f"{ms / 1000:.{1 if ms % 1000 else 0}f}{NARROW}s")
    at = next(index for index, (unit, _letter) in enumerate(UNITS) if ms >= unit)
    unit, letter = UNITS[at]
    smaller, small_letter = UNITS[at + 1]
    whole, rest = divmod(ms, unit)
    parts = f"{whole:.0f}{NARROW}{letter}"
    return f"{parts} {rest // smaller:.0f}{NARROW}{small_letter}" if rest >= smaller else parts


def seconds(number: float | None) -> str:
    """A duration given in seconds."""
    return NOTHING if number is None else span(number * 1000)


def about(number: float | None) -> str:
    """An estimated duration, given in seconds: one number and one unit, as an estimate is not more precise."""
    return NOTHING if number is None else about_ms(number * 1000)


def about_ms(ms: float | None) -> str:
    """An estimated duration, given in milliseconds."""
    if ms is None or ms < 60_000:
        return span(ms)
    unit, letter = next(pair for pair in UNITS if ms >= pair[0])
    return f"{ms / unit:.0f}{NARROW}{letter}"


def retry_policy(text: str) -> str:
    """A retry policy: after 5 s, then × 2, at most 1 min, ± 10%. A text that is not a policy is not changed."""
    policy = retry.parse(text)
    if policy.explicit() != text:
        return text
    first, most = (span(to_ms(name, getattr(policy, name))) for name in ("delay", "max_delay"))
    if policy.growth == retry.Growth.LINEAR:
        told = _("after %(first)s × attempt, at most %(most)s, ± %(jitter)s")
        return told % {"first": first, "most": most, "jitter": percent(policy.jitter)}
    told = _("after %(first)s, then × %(backoff)s, at most %(most)s, ± %(jitter)s")
    return told % {
        "first": first,
        "backoff": local(f"{policy.backoff:g}"),
        "most": most,
        "jitter": percent(policy.jitter),
    }


def size(number: float | None) -> str:
    """A size in bytes: 12.3 MB."""
    if number is None:
        return NOTHING
    value = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return local(f"{value:.3g}{NARROW}{unit}")
        value /= 1000
    return local(f"{value:.3g}{NARROW}TB")


def ago(ms: float, now_ms: float) -> str:
    """A time, relative to now: one number and one unit."""
    distance = now_ms - ms
    if abs(distance) < 1000:
        return _("now")
    unit, letter = next(pair for pair in UNITS if abs(distance) >= pair[0])
    text = f"{int(abs(distance) // unit)}{NARROW}{letter}"
    return _("%(span)s ago") % {"span": text} if distance > 0 else _("in %(span)s") % {"span": text}
