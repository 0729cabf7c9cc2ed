"""Timeline strip: how long a task was in each state, from left to right."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from queueops.inspect import Moment, TaskDetail
from queueops.model.states import TERMINAL, State

WIDTH = 1000.0
LEAST = 6.0  # so that a millisecond is visible beside a day


class Part(msgspec.Struct, frozen=True):
    """A period in one state; `ms` is None for the present one."""

    state: str
    left: float
    width: float
    ms: int | None
    text: str


def strip(task: TaskDetail) -> tuple[Part, ...]:
    """The parts of the strip; the last is the present state, with a fixed width."""
    moments = _stays(task.timeline)
    if not moments:
        return ()
    stays = [
        (moment.state or State.PENDING, max(0, then.t - moment.t), moment.text) for moment, then in pairwise(moments)
    ]
    last = WIDTH * (0.06 if _is_over(moments[-1].state) else 0.2) if stays else WIDTH
    widths = _widths([ms for _, ms, _ in stays], WIDTH - last)
    lefts = [sum(widths[:index]) for index in range(len(widths) + 1)]
    parts = [
        Part(state, round(left, 1), round(width, 1), ms, text)
        for (state, ms, text), left, width in zip(stays, lefts, widths, strict=False)
    ]
    return (*parts, Part(moments[-1].state, round(lefts[-1], 1), round(WIDTH - lefts[-1], 1), None, moments[-1].text))


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


def _is_over(state: str) -> bool:
    return state in TERMINAL
