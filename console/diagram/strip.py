"""Timeline strip: how long a task was in each state, from left to right."""

from __future__ import annotations

from itertools import accumulate, pairwise

import msgspec

from queueops.inspect import Moment, TaskDetail
from queueops.model.states import TERMINAL, State

WIDTH = 1000.0
LEAST = 6.0  # so that a millisecond is visible beside a day
END = 60.0  # of a state that does not end


class Part(msgspec.Struct, frozen=True):
    """A period in one state; `ms` is None for the present one."""

    state: str
    left: float
    width: float
    ms: int | None
    text: str


def strip(task: TaskDetail, now_ms: int) -> tuple[Part, ...]:
    """The parts of the strip, in proportion to time; the last is the present state. An end has a fixed width.

    A state whose time no index has takes no time.
    """
    moments = _stays(task.timeline)
    if not moments:
        return ()
    last = moments[-1]
    over = last.state in TERMINAL
    times = [moment.t for moment in moments] + [now_ms if last.t and not over else last.t]
    stays = [max(0, then - t) for t, then in pairwise(times)]
    widths = [*_widths(stays[:-1], WIDTH - END), END] if over and len(moments) > 1 else _widths(stays, WIDTH)
    lefts = accumulate(widths, initial=0.0)
    return tuple(
        Part(moment.state or State.PENDING, round(left, 1), round(width, 1), ms, moment.text)
        for moment, left, width, ms in zip(moments, lefts, widths, [*stays[:-1], None], strict=False)
    )


def _stays(timeline: tuple[Moment, ...]) -> list[Moment]:
    """The moments at which a stay in a state begins.

    A moment without a state (the push) begins a stay as pending if the next state is locked. Otherwise it is left out.
    """
    followed = zip(timeline, [*(moment.state for moment in timeline[1:]), ""], strict=True)
    return [moment for moment, then in followed if moment.state or then == State.LOCKED]


def _widths(stays: list[int], space: float) -> list[float]:
    """Widths in proportion to time, with a visible minimum."""
    total = sum(stays) or 1
    wanted = [max(LEAST, space * ms / total) for ms in stays]
    scale = space / sum(wanted) if wanted else 1
    return [width * scale for width in wanted]
