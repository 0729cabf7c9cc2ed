"""Wrong tokens: how many an address has sent, so that guesses do not ask the database without end.

A token that this process has known is always looked up. So a client behind the same proxy goes on while others guess.
"""

from __future__ import annotations

from time import monotonic

MOST, WITHIN_S = 20, 10.0
"""Wrong tokens of an address within so many seconds. After them an unknown token waits for the end of that time."""
MOST_ADDRESSES = 10_000


def seconds_to_wait(address: str) -> float:
    """The seconds until a token of this address is looked up again; 0 if it is now."""
    begun, count = _counts.get(address, (0.0, 0))
    return max(0.0, begun + WITHIN_S - monotonic()) if count >= MOST else 0.0


def count_wrong(address: str) -> None:
    """Count a wrong token of an address."""
    begun, count = _counts.get(address, (0.0, 0))
    if monotonic() >= begun + WITHIN_S:
        begun, count = monotonic(), 0
    if address not in _counts and len(_counts) >= MOST_ADDRESSES:
        _counts.clear()
    _counts[address] = begun, count + 1


def forget() -> None:
    """Count each address from 0."""
    _counts.clear()


_counts: dict[str, tuple[float, int]] = {}
"""By address, the beginning of its time, and the wrong tokens since."""
