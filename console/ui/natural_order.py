"""Natural sort order of names: `tenant-9` before `tenant-10`."""

from __future__ import annotations

import re

DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key: numbers compare as numbers; a number and a text are comparable too."""
    return [(int(piece[:18]), "") if piece.isdecimal() else (-1, piece) for piece in DIGITS.split(name)]
