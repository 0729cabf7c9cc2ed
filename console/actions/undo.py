"""Undo: the inverse of each action that has one, for the tasks that the action changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from console.access.permissions import TABLE
from console.actions.catalog import UNDO
from console.models import UNCLEAR, AuditEntry, Outcome
from console.ui.kind_pages import verb_of_kind
from queueops import control
from queueops.control.verbs import ON_TASKS, Undo

LOOKED_AT = 20
"""How many parts of a bulk action are checked for a possible undo; each part is large."""
LONGEST = timedelta(minutes=1)
"""The longest time of an undo; after it, an unfinished undo was interrupted with its process."""


class Step(NamedTuple):
    """One call that undoes an action or a part of it; `ids` is empty for actions that are not about tasks."""

    pool: str
    ids: tuple[str, ...]
    call: Callable[[], Any]


def steps(entry: AuditEntry, who: str = "") -> list[Step]:
    """The calls that undo the action; empty if it cannot be undone, or already was."""
    if entry.outcome not in (Outcome.DONE, Outcome.PARTLY) or not has_way_back(entry):
        return []
    if entry.is_closed or entry.undone_by.exclude(_lost()).exists():
        return []
    return list(_inverse(entry.verb)(entry, who=who, token=f"{entry.token}.undo"))


def has_way_back(entry: AuditEntry) -> bool:
    """Whether actions of this verb can be undone at all; an undo cannot."""
    return _inverse(entry.verb) is not _nothing and not entry.undoes_id


def is_open(entry: AuditEntry) -> bool:
    """Whether anything is, or may be, left to undo; of a bulk action, in any of its parts."""
    if entry.is_mass:
        if not has_way_back(entry):
            return False
        if entry.operations:
            failed = (Outcome.FAILED, Outcome.UNKNOWN)
            return entry.changed > 0 and not entry.undone_by.exclude(outcome__in=failed).exists()
        if entry.parts.filter(outcome__in=UNCLEAR).exists():
            return True
        return any(number == LOOKED_AT or steps(part) for number, part in enumerate(open_parts(entry)))
    if entry.is_unknown:
        return has_way_back(entry)
    return bool(steps(entry))


def permission(entry: AuditEntry) -> str | None:
    """The permission that the undo needs."""
    if entry.ids or entry.is_mass:
        return TABLE.get(f"task-{entry.verb.removeprefix(UNDO)}")
    return TABLE["lane-set"]


def open_parts(entry: AuditEntry) -> Iterator[AuditEntry]:
    """The parts of a bulk action that have changed tasks and are not undone yet, in order.

    Each part is large, and is read when its turn comes.
    """
    undone = AuditEntry.objects.filter(undoes=OuterRef("pk")).exclude(_lost())
    left = entry.parts.filter(~Exists(undone), outcome__in=(Outcome.DONE, Outcome.PARTLY), changed__gt=0)
    for pk in list(left.order_by("pk").values_list("pk", flat=True)):
        yield entry.parts.get(pk=pk)


def in_a_step(entry: AuditEntry) -> QuerySet[AuditEntry]:
    """The parts that a request may still be working on."""
    return entry.parts.filter(outcome=Outcome.BEGUN, at__gte=timezone.now() - LONGEST)


def _lost() -> Q:
    """Undo entries that did not complete: they are done again, and the store does none of it twice."""
    return Q(outcome__in=(Outcome.FAILED, Outcome.UNKNOWN)) | Q(outcome=Outcome.BEGUN, at__lt=timezone.now() - LONGEST)


def _nothing(_entry: AuditEntry, **_: Any) -> Iterator[Step]:
    yield from ()


def _inverse(verb: str) -> Callable[..., Iterator[Step]]:
    """What undoes a verb; `_nothing` if nothing does."""
    if (known := ON_TASKS.get(verb)) and known.undo:
        return partial(_tasks_as_before, known.undo)
    own = verb_of_kind(verb)
    return INVERSE.get(verb) or (own.undo if own is not None else None) or _nothing


def _tasks_as_before(undo: Undo, entry: AuditEntry, **how: Any) -> Iterator[Step]:
    """One call for the tasks of a pool that the same verb takes back with the same arguments."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for pool, id in entry.ids:
        was, now = (side.get(f"{pool} {id}", {}) for side in (entry.before, entry.after))
        if now.get("word") == "OK" and (back := undo({**was, "now": now.get("state")})):
            groups.setdefault((pool, back[0], *back[1].items()), []).append(id)
    for (pool, verb, *values), ids in groups.items():
        yield Step(pool, tuple(ids), partial(ON_TASKS[verb].act, ids, pool=pool, **dict(values), **how))


def _lane_as_before(entry: AuditEntry, **_: str) -> Iterator[Step]:
    was = entry.before
    pool, lane = was["pool"], was["lane"]
    if entry.verb == "pause":
        yield Step(pool, (), lambda: control.resume_lane(pool, lane))
    elif entry.verb == "resume":
        yield Step(pool, (), lambda: control.pause_lane(pool, lane))
    else:
        values = {name: was[name] for name in ("limit", "rate", "weight") if name in was}
        yield Step(pool, (), lambda: control.set_lane(pool, lane, **values))


def _name_as_before(entry: AuditEntry, **_: str) -> Iterator[Step]:
    """In the pools where that changed."""
    name, was, now = entry.before["name"], set(entry.before["paused_in"]), set(entry.after.get("paused_in", ()))
    for pool in sorted(was - now):
        yield Step(pool, (), partial(control.pause_name, name, pool, new=True))
    for pool in sorted(now - was):
        yield Step(pool, (), partial(control.resume_name, name, pool))


def _pool_as_before(entry: AuditEntry, **_: str) -> Iterator[Step]:
    pool = entry.before["pool"]
    back = control.resume_lane if entry.verb == "pause_pool" else control.pause_lane
    for lane in entry.before.get("lanes", ()):
        yield Step(pool, (), partial(back, pool, lane))


INVERSE: dict[str, Callable[..., Iterator[Step]]] = {
    "pause": _lane_as_before,
    "resume": _lane_as_before,
    "set_lane": _lane_as_before,
    "pause_name": _name_as_before,
    "resume_name": _name_as_before,
    "pause_pool": _pool_as_before,
    "resume_pool": _pool_as_before,
}
"""The inverse of each verb that is not about tasks; kinds bring those of theirs.

A retry, a release, a discarded task and a stopped worker cannot be undone.
"""
