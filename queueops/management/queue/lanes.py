"""The verbs on lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queueops import control
from queueops.management.queue.screen import printable, to_json


def pause(*, pool: str, lane: str, **given: Any) -> Iterator[str]:
    """Pause it."""
    return _answer("paused", pool, lane, control.pause_lane(pool, lane), given)


def resume(*, pool: str, lane: str, **given: Any) -> Iterator[str]:
    """Resume it."""
    return _answer("resumed", pool, lane, control.resume_lane(pool, lane), given)


def _answer(word: str, pool: str, lane: str, before: dict[str, str], given: dict[str, Any]) -> Iterator[str]:
    if given["as_json"]:
        yield to_json({"pool": pool, "lane": lane, "word": word, "before": before})
    else:
        was = "paused" if before.get("paused") == "1" else "running"
        yield f"The lane {printable(lane)} of the pool {printable(pool)} is {word}; it was {was} before."
