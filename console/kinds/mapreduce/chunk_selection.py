"""Chunk selection: the selected chunks of an action, by number or by state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queueops.model.states import ChunkState

MOST = 500  # the most for one call of queueops.control
HIGHEST = 10**9


class ChunkChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Selected chunks of one task: `numbers`, or all in the states `whole`; `count` is their number now."""

    pool: str
    id: str
    numbers: tuple[int, ...] = ()
    whole: tuple[str, ...] = ()
    count: int = 0

    @classmethod
    def parse(cls, request: HttpRequest, pool: str, id: str, counts: Mapping[str, int]) -> Self:
        """Parse a form: selected numbers have precedence over whole states, which the URL may also hold."""
        numbers = tuple(dict.fromkeys(_number(value) for value in request.POST.getlist("chunk")))
        if len(numbers) > MOST:
            raise SuspiciousOperation(_("At most %(most)d chunks can be chosen at once.") % {"most": MOST})
        if numbers:
            return cls(pool=pool, id=id, numbers=numbers, count=len(numbers))
        states = request.POST.getlist("whole") or request.GET.getlist("whole")
        if any(state not in set(ChunkState) for state in states):
            raise SuspiciousOperation(_("The chosen chunks could not be read."))
        whole = tuple(dict.fromkeys(states))
        return cls(pool=pool, id=id, whole=whole, count=sum(counts[state] for state in whole))

    def __len__(self) -> int:
        return self.count

    def title(self) -> str:
        """The number of a single chunk, or how many chunks there are."""
        if len(self.numbers) == 1:
            return _("chunk %(number)d") % {"number": self.numbers[0]}
        return ngettext("%(count)d chunk", "%(count)d chunks", self.count) % {"count": self.count}

    def target(self) -> str:
        """The target in the audit log: the task and its selected chunks."""
        if self.whole:
            return f"{self.id}: {' + '.join(self.whole)} ({self.count})"
        shown = ", ".join(map(str, self.numbers[:20]))
        return f"{self.id}: {shown}{', …' if len(self.numbers) > 20 else ''}"


def _number(value: str) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) < 11) or int(value) > HIGHEST:
        raise SuspiciousOperation(_("The chosen chunks could not be read."))
    return int(value)
