"""Finding: what one check of the doctor has seen."""

from __future__ import annotations

from typing import NamedTuple

OK, WARN, FAIL = "ok", "warn", "fail"


class Finding(NamedTuple):
    """What was seen. Of a fault, the remedy is a sentence or a command."""

    check: str
    level: str  # ok, warn, fail
    seen: str
    remedy: str = ""
