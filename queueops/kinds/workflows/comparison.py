"""Comparison of a command with the recorded one, and the place in the code where a coroutine waits."""

from __future__ import annotations

from typing import Any

from queueops.kinds.workflows.events import Entry


def shape(entry: Entry) -> tuple[Any, ...]:
    """What a replay must repeat of a command."""
    place = entry.state if entry.kind == "end" else ""
    return entry.kind, entry.command, entry.name, entry.instance, entry.arguments_digest, entry.at_ms, place, entry.pool


def difference(done: Entry, was: Entry | None) -> str:
    """What the code does now, in a message about a difference."""
    is_same = was is not None and (done.kind, done.command, done.name) == (was.kind, was.command, was.name)
    if is_same and was is not None and done.arguments_digest != was.arguments_digest:
        return f"{done.told()} with other arguments"
    return done.told()


def place_of(coro: Any) -> str:
    """File and line of the innermost frame of a coroutine that belongs to the project's code."""
    place = ""
    while coro is not None:
        frame = getattr(coro, "cr_frame", None)
        if frame is not None:
            name = frame.f_code.co_filename
            if "/queueops/kinds/workflows/" not in name and "/asyncio/" not in name:
                place = f"{name}:{frame.f_lineno} in {frame.f_code.co_name}"
        coro = getattr(coro, "cr_await", None)
    return place
