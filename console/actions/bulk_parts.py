"""Parts of bulk actions: an audit entry for each, locking, counts, and the recovery of answers lost in an outage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import router
from django.db.models import F, Max, Sum
from django.db.transaction import atomic
from django.utils.translation import ngettext, override

from console.actions.undo import in_a_step
from console.audit.log import DETAIL_LENGTH, STORED, judge
from console.models import UNCLEAR, AuditEntry, Outcome
from queueops import control


@contextmanager
def alone(entry: AuditEntry) -> Iterator[None]:
    """Lock the entry: a second request waits, and then sees what the first one has written."""
    with atomic(using=router.db_for_write(AuditEntry)):
        AuditEntry.objects.filter(pk=entry.pk).update(count=F("count"))  # a row lock that works on every database
        yield


def find_out(entry: AuditEntry, *, spare_steps: bool = False) -> None:
    """Ask the store for the results of an action or its parts whose answers were lost.

    An outage or the end of the process loses an answer. Tasks that a part did not reach come in a later step. With
    `spare_steps` a part that a request may still be doing is not judged yet. Raises BrokerUnavailable, and then changes
    nothing.
    """
    if entry.is_unknown and entry.part_of is None:
        _ask(entry)
        AuditEntry.objects.filter(pk=entry.pk, outcome=Outcome.UNKNOWN).update(**_found(entry))
        return
    whole = entry.part_of or entry
    unclear = whole.parts.filter(outcome__in=UNCLEAR).order_by("pk")
    if spare_steps:
        unclear = unclear.exclude(pk__in=in_a_step(whole))
    for pk in list(unclear.values_list("pk", flat=True)):
        part = whole.parts.get(pk=pk)
        gone = _ask(part)
        with alone(whole):
            if whole.parts.filter(pk=pk, outcome__in=UNCLEAR).update(**_found(part)):
                rows = AuditEntry.objects.filter(pk=whole.pk)
                rows.update(seen=F("seen") + part.changed + gone)
                if gone:
                    rows.filter(detail="").update(detail=part.detail)
        recount(whole)


def recount(whole: AuditEntry) -> None:
    """Sum up the changes of all parts and all users; a part that was undone twice counts once."""
    with alone(whole):
        if whole.undoes_id:
            each = whole.parts.order_by().values("undoes").annotate(most=Max("count"), done=Max("changed"))
            facts = {"seen": sum(row["most"] for row in each), "changed": sum(row["done"] for row in each)}
        else:
            facts = whole.parts.aggregate(changed=Sum("changed", default=0))
        AuditEntry.objects.filter(pk=whole.pk).update(**facts)
    whole.refresh_from_db(fields=["seen", "changed", "place", "detail", "outcome"])


def _ask(part: AuditEntry) -> int:
    """Judge an action by what its tasks' records say of it; returns how many tasks are gone."""
    with override(STORED):
        return _judged(part)


def _judged(part: AuditEntry) -> int:
    part.changed, part.outcome, gone = 0, Outcome.DONE, 0
    for pool in dict.fromkeys(pool for pool, _id in part.ids):
        rows = control.recall([id for where, id in part.ids if where == pool], pool, token=part.token)
        judge(part, pool, rows)
        gone += sum(row.word == "GONE" for row in rows)
    if gone:
        lost = ngettext("%(n)d is gone for an unknown reason", "%(n)d are gone for an unknown reason", gone)
        part.detail = f"{lost % {'n': gone}}; {part.detail}"[:DETAIL_LENGTH]
    return gone


def _found(entry: AuditEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("after", "changed", "outcome", "detail")}
