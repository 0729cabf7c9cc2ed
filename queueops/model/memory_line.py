"""Memory line: the memory of a worker process by minute for the last hour, as its heartbeat has it."""

from __future__ import annotations

MINUTES = 60
MOST = 1000
"""Characters of a line that are read."""


class MemoryLine:
    """The highest memory of each of the last minutes, in bytes."""

    def __init__(self) -> None:
        """Begin without a minute."""
        self._found: dict[int, int] = {}

    def note(self, now_s: float, size: int) -> None:
        """Add what the process takes now."""
        minute = int(now_s // 60)
        self._found[minute] = max(size, self._found.get(minute, 0))
        for old in [each for each in self._found if each <= minute - MINUTES]:
            del self._found[old]

    def __str__(self) -> str:
        """As it is stored: the first minute, then KiB of each; a minute without any is empty."""
        if not self._found:
            return ""
        first = min(self._found)
        sizes = (self._found.get(minute) for minute in range(first, max(self._found) + 1))
        return f"{first}:{','.join('' if size is None else str(size // 1024) for size in sizes)}"


def read(line: str) -> tuple[tuple[int, int | None], ...]:
    """The time of each minute in ms with its bytes, the oldest first; empty for an unreadable line."""
    first, _, sizes = line[:MOST].partition(":")
    if not first.isdecimal() or len(first) > 12:
        return ()
    found = sizes.split(",")[:MINUTES]
    return tuple(
        ((int(first) + place) * 60_000, int(size) * 1024 if size.isdecimal() and len(size) < 12 else None)
        for place, size in enumerate(found)
    )
