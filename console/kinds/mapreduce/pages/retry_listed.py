"""Retry from the list of chunks: ticked chunks of several map-reduce tasks, or all in a state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Self

from django.contrib import messages
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.actions.confirmation import unanswered
from console.actions.perform import do
from console.actions.selection import MOST, Choice
from console.http import redirects
from console.kinds.mapreduce.chunk_actions import ACTIONS
from console.kinds.mapreduce.chunk_selection import ChunkChoice, number_of
from console.models import Outcome
from console.ui.formatting import count
from console.ui.forms import ActionForm
from console.ui.notices import notice
from queueops import inspect
from queueops.kinds.mapreduce.states import ChunkState

AT_MOST = 10_000
"""Chunks that one request retries. What is left is in the list still, and can be retried by the next one."""
PER_READING = 200
STATES = (ChunkState.ERRORED, ChunkState.FAILED)
"""States of chunks that can be retried."""
RETRY = ACTIONS["retry"]._replace(url="chunks-retry")


class ListedChunks(Choice, frozen=True, kw_only=True):
    """Chunks of several tasks, by number; `whole` is the state, and the pool or '', if they are all in it."""

    parts: tuple[ChunkChoice, ...]
    whole: tuple[str, str] | None = None

    @classmethod
    def of(cls, found: Iterable[tuple[str, str, int]], whole: tuple[str, str] | None = None) -> Self:  # type: ignore[override]
        """Chunks as pool, task and number."""
        numbers: dict[tuple[str, str], dict[int, None]] = defaultdict(dict)
        for pool, id, number in found:
            numbers[pool, id][number] = None
        parts = (
            ChunkChoice(
                (task,), numbers=tuple(each)[start : start + MOST], count=len(tuple(each)[start : start + MOST])
            )
            for task, each in numbers.items()
            for start in range(0, len(each), MOST)
        )
        return cls(tuple(numbers), parts=tuple(parts), whole=whole)

    @classmethod
    def of_ticks(cls, values: Iterable[str]) -> Self:
        """The ticked rows, `<pool> <id> <number>`."""
        found = []
        for value in values:
            task, _space, number = value.rpartition(" ")
            ((pool, id),) = Choice.parse([task]).tasks
            found.append((pool, id, number_of(number)))
        return cls.of(found)

    @classmethod
    def in_state(cls, state: str, pool: str) -> Self:
        """All in a state, at most AT_MOST."""
        found: list[tuple[str, str, int]] = []
        page = inspect.all_chunks(state, pool, limit=PER_READING)
        while True:
            found += [(row.pool, row.id, row.number) for row in page.rows]
            if not page.next or len(found) >= AT_MOST:
                return cls.of(found[:AT_MOST], (state, pool))
            page = inspect.all_chunks(state, pool, after=page.next, limit=PER_READING)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The chunks, as the confirmation sends them again."""
        if self.whole is not None:
            return [("all", self.whole[0]), ("in", self.whole[1])]
        return [
            ("listed", f"{pool} {id} {number}")
            for part in self.parts
            for pool, id in part.tasks
            for number in part.numbers
        ]

    def title(self) -> str:
        """The number of chunks and of tasks."""
        tasks = ngettext("%(n)s task", "%(n)s tasks", len(self.tasks)) % {"n": count(len(self.tasks))}
        return _("%(chunks)s of %(tasks)s") % {"chunks": self.number(), "tasks": tasks}

    def number(self) -> str:
        """The number of chunks."""
        return ngettext("%(n)s chunk", "%(n)s chunks", len(self)) % {"n": count(len(self))}

    def effects(self, verb: str) -> tuple[str, ...]:
        """No other task is reached."""
        return ()

    def expected(self, sent: str) -> int:
        """The number to confirm. If the state holds fewer chunks now, the number on the page is accepted."""
        fewer = self.whole and sent.isdecimal() and len(sent) < 11 and len(self) <= int(sent)
        return int(sent) if fewer else len(self)


def retry(request: HttpRequest) -> HttpResponse:
    """Retry the ticked chunks, or all in the state of the page. The audit log has an entry for each task."""
    state = request.POST.get("all", "")
    if state and state not in STATES:
        raise SuspiciousOperation(_("The selection could not be read. Select the chunks again."))
    chosen = (
        ListedChunks.in_state(state, request.POST.get("in", ""))
        if state
        else ListedChunks.of_ticks(request.POST.getlist("listed"))
    )
    if not len(chosen):
        notice(request, messages.INFO, _("Select the chunks that run again."))
        return redirects.back(request, "chunks")
    if question := unanswered(request, RETRY, chosen, ActionForm(request.POST), "chunks"):
        return question
    _retry(request, chosen)
    return redirects.back(request, "chunks")


def _retry(request: HttpRequest, chosen: ListedChunks) -> None:
    entries = []
    for part in chosen.parts:
        entries.append(do(request, RETRY, part, {}))
        if entries[-1].outcome == Outcome.FAILED:
            break
    changed = sum(entry.changed for entry in entries)
    told = _("Retry: %(n)s of %(all)s.") % {"n": count(changed), "all": chosen.title()}
    missed = next((entry.detail for entry in entries if entry.detail), "")
    level = messages.SUCCESS if changed == len(chosen) else messages.WARNING
    notice(request, level, f"{told} {missed}".strip())
