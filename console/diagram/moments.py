"""Moments of a chart: alarms, starts of workers, new versions and operators' actions, as lines with a text.

Moments that fall into one place share a line, so that a chart has a bounded number of them. A few lines have the height
of the chart; the others are ticks at its foot, so that they do not hide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import structs

from console.diagram.chart import WIDTH
from queueops.model.sentences import translated

PLACES = 100
"""Places of the width in which moments share a line."""
TALL = 8
"""Lines with the height of the chart: those of the weightiest kinds, of one kind the newest."""
MOST_TEXTS = 4
ACTION = "action"
WORDS: dict[str, Promise] = {
    "alarm": gettext_lazy("alarm begins"),
    "version": gettext_lazy("new version"),
    ACTION: gettext_lazy("operator's action"),
    "end": gettext_lazy("alarm ends"),
    "start": gettext_lazy("worker starts"),
}
"""The kinds of moments, the weightiest first."""
ORDER = list(WORDS)
TICK = 90
"""Where a tick begins."""


class Happening(msgspec.Struct, frozen=True):
    """One moment: when, what, and the page with more about it."""

    at_ms: int
    kind: str
    text: str
    level: str = ""
    url: str = ""

    @property
    def word(self) -> Promise | str:
        """Its kind, in words."""
        return WORDS.get(self.kind, self.kind)


class Line(msgspec.Struct, frozen=True):
    """The moments of one place, with the kind of the weightiest; `top` is where the line begins, of 100."""

    x: float
    kind: str
    text: str
    top: int = 0


def lines(happenings: Iterable[Happening], begin_ms: int, end_ms: int) -> list[Line]:
    """A line for each place in which there are moments, from left to right."""
    places: dict[int, list[Happening]] = {}
    for each in happenings:
        if begin_ms <= each.at_ms:  # the newest may be later than the last closed step
            places.setdefault(min(PLACES, (each.at_ms - begin_ms) * PLACES // (end_ms - begin_ms)), []).append(each)
    drawn = [_line(found, begin_ms, end_ms) for _place, found in sorted(places.items())]
    tops = line_tops([(line.kind, line.x) for line in drawn])
    return [structs.replace(line, top=top) for line, top in zip(drawn, tops, strict=True)]


def line_tops(placed: Sequence[tuple[str, float]]) -> list[int]:
    """Where the line of each moment begins, of 100: `placed` are their kinds and places or times."""
    order = sorted(range(len(placed)), key=lambda index: (_weight(placed[index][0]), -placed[index][1]))
    tall = set(order[:TALL])
    return [0 if index in tall else TICK for index in range(len(placed))]


def _weight(kind: str) -> int:
    """The place of a kind, the weightiest first."""
    return ORDER.index(kind) if kind in ORDER else len(ORDER)


def _line(found: list[Happening], begin_ms: int, end_ms: int) -> Line:
    found = sorted(found, key=lambda each: (_weight(each.kind), each.at_ms))
    texts = [f"{each.word}: {translated(each.text)}" for each in found[:MOST_TEXTS]]
    if (more := len(found) - MOST_TEXTS) > 0:
        texts.append(_("and %(n)d more") % {"n": more})
    x = min(1.0, (found[0].at_ms - begin_ms) / (end_ms - begin_ms)) * WIDTH
    return Line(round(x, 1), found[0].kind, "\n".join(texts))


def legend(happenings: Iterable[Happening]) -> list[tuple[str, Promise]]:
    """The kinds that occur, with their words."""
    kinds = {each.kind for each in happenings}
    return [(kind, word) for kind, word in WORDS.items() if kind in kinds]
