"""Rate of the demo, and the parsers of its command line options."""

from __future__ import annotations

from argparse import ArgumentTypeError

DEFAULT_RATE = 4.0
MAX_RATE = 100.0
MAX_SECONDS = 31_536_000


def rate(text: str) -> float:
    """A number from 0 to MAX_RATE."""
    if not 0 <= (number := float(text)) <= MAX_RATE:
        raise ArgumentTypeError(f"{text} is not a number from 0 to {MAX_RATE:g}")
    return number


def seconds(text: str) -> float:
    """A number above 0, and of at most MAX_SECONDS."""
    if not 0 < (number := float(text)) <= MAX_SECONDS:
        raise ArgumentTypeError(f"{text} is not a number of seconds above 0, at most {MAX_SECONDS:,}")
    return number
