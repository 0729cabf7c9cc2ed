"""The order of names as people read them: `tenant-9` before `tenant-10`."""

from __future__ import annotations

import re

DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, str]]:
    """A key to sort by: numbers as numbers; each piece compares with each."""
    return [(int(piece[:18]), "") if piece.isdecimal() else (-1, piece) for piece in DIGITS.split(name)]
