"""Comparison of a command with the recorded one, the stack of a coroutine that waits, and a task that has failed."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from queueops.conf import redactor
from queueops.errors.workflows import NotDeterministic
from queueops.kinds.workflows.events import Entry
from queueops.model.redact import cut

MOST_FRAMES = 20
MOST_OF_ERROR = 500


def shape(entry: Entry) -> tuple[Any, ...]:
    """What a replay must repeat of a command. An open call stays in its pool when the code names another one."""
    state = entry.state if entry.kind == "end" else ""
    return entry.kind, entry.command, entry.name, entry.instance, entry.arguments_digest, entry.at_ms, state


def check_same(name: str, step: int, made: Sequence[Entry], recorded: Sequence[Entry]) -> None:
    """Compare the commands of a step with those that its history has. Raises NotDeterministic."""
    for done, was in zip_longest(without_patches(made), without_patches(recorded)):
        if done is None or was is None or shape(done) != shape(was):
            raise NotDeterministic(
                name=name,
                step=step,
                recorded=was.told() if was else "nothing more",
                done=difference(done, was) if done else "nothing more",
            )


def without_patches(entries: Iterable[Entry]) -> list[Entry]:
    """The commands that a replay must repeat. A question of `wf.patched` may be gone from the code."""
    return [entry for entry in entries if entry.kind != "patch"]


def difference(done: Entry, was: Entry | None) -> str:
    """What the code does now, in a message about a difference."""
    is_same = was is not None and (done.kind, done.command, done.name) == (was.kind, was.command, was.name)
    if is_same and was is not None and done.arguments_digest != was.arguments_digest:
        return f"{done.told()} with other arguments"
    return done.told()


def stack_of(coro: Any) -> list[str]:
    """File, line and function of each frame of a waiting coroutine, outermost first, without those of the engine."""
    frames: list[str] = []
    while coro is not None:
        frame = getattr(coro, "cr_frame", None)
        if frame is not None:
            name = frame.f_code.co_filename
            if "/queueops/kinds/workflows/" not in name and "/asyncio/" not in name:
                frames.append(f"{name}:{frame.f_lineno} in {frame.f_code.co_name}")
        coro = getattr(coro, "cr_await", None)
    return frames[-MOST_FRAMES:]


def told_death(task: Any) -> str:
    """A task of the code that has failed: its function, its error, and the place that raised it, in one line."""
    error = task.error
    frame = (traceback.extract_tb(error.__traceback__) or [None])[-1]
    place = f", at {frame.filename}:{frame.lineno} in {frame.name}" if frame else ""
    text = f"{task.code or task.get_name()}: {type(error).__name__}: {error}{place}"
    return cut(redactor().text(" ".join(text.split())), MOST_OF_ERROR)
