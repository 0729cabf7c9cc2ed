"""Chunk selection: the selected chunks of an action, by number or by state."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar, Self

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.actions.catalog import Action
from console.actions.selection import MOST, Choice
from console.models import AuditEntry, Outcome
from console.ui.formatting import count
from console.ui.state_badges import label as state_label
from queueops import control
from queueops.control import ChunkAnswer
from queueops.kinds.mapreduce.states import ChunkState

HIGHEST = 10**9
SHOWN = 5
"""The most refusal reasons that are recorded."""
RESENT = ("delay", "stage")
"""Values besides the chunks that the confirmation sends again."""


class ChunkChoice(Choice, frozen=True, kw_only=True):
    """Selected chunks of one task: `numbers`, or all in the states `whole`; `count` is their number now."""

    numbers: tuple[int, ...] = ()
    whole: tuple[str, ...] = ()
    count: int
    before_edit: dict[str, str] = {}
    resent: tuple[tuple[str, str], ...] = ()

    question: ClassVar[str] = "mapreduce/confirm.html"

    @classmethod
    def of_form(cls, request: HttpRequest, task: tuple[str, str], counts: Mapping[str, int]) -> Self:
        """Parse a form about a task (pool, id). Selected numbers have precedence over whole states.

        The URL may hold states, too.
        """
        numbers = tuple(dict.fromkeys(number_of(value) for value in request.POST.getlist("chunk")))
        if len(numbers) > MOST:
            raise SuspiciousOperation(_("At most %(most)d chunks can be selected at once.") % {"most": MOST})
        resent = tuple((name, request.POST[name]) for name in RESENT if name in request.POST)
        if numbers:
            return cls((task,), numbers=numbers, count=len(numbers), resent=resent)
        states = request.POST.getlist("whole") or request.GET.getlist("whole")
        if any(state not in set(ChunkState) for state in states):
            raise SuspiciousOperation(_("The selection could not be read. Select the chunks again."))
        whole = tuple(dict.fromkeys(states))
        return cls((task,), whole=whole, count=sum(counts[state] for state in whole), resent=resent)

    def __len__(self) -> int:
        return self.count

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The task, the chunks, and what else is sent again."""
        ((pool, _id),) = self.tasks
        chunks = [("chunk", str(number)) for number in self.numbers] + [("whole", state) for state in self.whole]
        return [("pool", pool), *chunks, *self.resent]

    def title(self) -> str:
        """The number of a single chunk, or how many chunks there are."""
        if len(self.numbers) == 1:
            return _("chunk %(number)d") % {"number": self.numbers[0]}
        return ngettext("%(count)d chunk", "%(count)d chunks", self.count) % {"count": self.count}

    def number(self) -> str:
        """The number of chunks."""
        return ngettext("%(n)s chunk", "%(n)s chunks", self.count) % {"n": count(self.count)}

    def target(self) -> str:
        """The task and its selected chunks."""
        ((_pool, id),) = self.tasks
        if self.whole:
            return f"{id}: {' + '.join(self.whole)} ({self.count})"
        shown = ", ".join(map(str, self.numbers[:20]))
        return f"{id}: {shown}{', …' if len(self.numbers) > 20 else ''}"

    def facts(self) -> dict[str, Any]:
        """The task, the chunks, and their data if it is edited."""
        chosen = {"chunks": list(self.numbers), "whole": list(self.whole)}
        return super().facts() | {"before": chosen | self.before_edit}

    def expected(self, sent: str) -> int:
        """The number to confirm. If the state holds fewer chunks now, the number on the page is accepted."""
        fewer = self.whole and sent.isdecimal() and len(sent) < 11 and self.count <= int(sent)
        return int(sent) if fewer else self.count

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Act on the chunks by number, or on whole states one after the other."""
        entry.count = self.count
        entry.after |= {name: str(value) for name, value in values.items()}
        ((pool, id),) = self.tasks
        chosen: list[dict[str, Any]] = [{"numbers": self.numbers}] if self.numbers else []
        chosen = chosen or [{"state": state} for state in self.whole]
        answers = [action.call(id, pool=pool, who=entry.actor_name, **each, **values) for each in chosen]
        _judge(entry, f"{pool} {id}", answers[0] if self.numbers else _summed(answers))


def _summed(answers: list[ChunkAnswer]) -> ChunkAnswer:
    """One answer for all whole states; a whole state refuses no single chunk."""
    return ChunkAnswer(
        changed=sum(answer.changed for answer in answers),
        left=sum(answer.left for answer in answers),
        state=answers[-1].state,
        refused={},
        unfit=sum(answer.unfit for answer in answers),
    )


def _judge(entry: AuditEntry, task: str, answer: ChunkAnswer) -> None:
    """Store the engine's answer in the entry: how many chunks changed, why others were refused, the new state."""
    verb = entry.verb.removesuffix("_chunks")
    entry.changed = answer.changed
    whys = [why for _number, why in islice(control.reasons(verb, answer), SHOWN)]
    if answer.unfit:
        kept = ngettext("%(n)d keeps its data", "%(n)d keep their data", answer.unfit) % {"n": answer.unfit}
        whys.append(_("%(kept)s, which has no fields, or would be too long") % {"kept": kept})
    if answer.left:
        again = (
            ngettext(
                "%(left)d is not released yet; repeat the action",
                "%(left)d are not released yet; repeat the action",
                answer.left,
            )
            if verb == "release"
            else ngettext("%(left)d follows automatically", "%(left)d follow automatically", answer.left)
        )
        whys.append(again % {"left": answer.left})
    if not answer.changed and not whys:
        whys.append(_("the task is %(state)s") % {"state": state_label(answer.state or "gone")})
    if whys:
        entry.outcome = Outcome.PARTLY if answer.changed else Outcome.REFUSED
        entry.detail = "; ".join(whys)
    entry.after[task] = {"word": "OK" if answer.changed else "REFUSED", "state": answer.state, "detail": entry.detail}


def number_of(value: str) -> int:
    """The number of a chunk, as a form sent it."""
    if not (value.isascii() and value.isdecimal() and len(value) < 11) or int(value) > HIGHEST:
        raise SuspiciousOperation(_("The selection could not be read. Select the chunks again."))
    return int(value)
