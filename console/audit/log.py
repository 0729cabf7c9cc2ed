"""Audit log writer: each new entry is made by `new_entry`, which masks its texts.

`recorded` is for an action within one request, `begin` for an action of several requests, `written` for an actor
without a request. `console.access.denials` calls `new_entry` itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from ipaddress import IPv6Address, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, ngettext, override, pgettext_lazy

from console.models import AuditedTask, AuditEntry, Outcome
from queueops import conf
from queueops.errors import BrokerUnavailable, EmbeddedFailed, QueueOpsError, StoreFull
from queueops.model.sentences import translated
from queueops.model.stored_sentences import Stored

logger = logging.getLogger("console.audit")

OUTAGES = (BrokerUnavailable, EmbeddedFailed, StoreFull)
DETAIL_LENGTH = 1000
STORED = "en"
"""The language of stored texts: users of several languages read them."""
ANSWERS = {
    "REFUSED": pgettext_lazy("answer to an action", "refused"),
    "GONE": pgettext_lazy("answer to an action", "gone"),
    "STALE": pgettext_lazy("answer to an action", "stale"),
}
"""Why the engine did not act on a task, if it said no more."""


@contextmanager
def recorded(
    request: HttpRequest, verb: str, target: str, *, tasks: Sequence[tuple[str, str]] = (), **facts: Any
) -> Iterator[AuditEntry]:
    """Write an entry before the action, and its outcome afterwards, even after an error.

    An entry that stays "begun" belongs to a process that died in between. The body sets its findings on the entry; an
    engine error is recorded and raised again.
    """
    with written(verb, target, tasks, **(_who(request) | facts)) as entry:
        yield entry


def begin(request: HttpRequest, verb: str, target: str, **facts: Any) -> AuditEntry:
    """Begin the entry of an action that takes longer than a request; a later request writes its outcome."""
    return new_entry(verb, target, **(_who(request) | facts))


def new_entry(verb: str, target: str, *, actor_name: str, reason: str = "", **facts: Any) -> AuditEntry:
    """Write an entry; its texts are masked, and cut to the lengths of their columns."""
    texts = {"actor_name": actor_name[:150], "target": kept(target, 400), "reason": kept(reason, 500)}
    return AuditEntry.objects.create(verb=verb, **(texts | facts))


def as_stored(moment: datetime) -> datetime:
    """An aware time as the database has times: without USE_TZ they are naive, in the project's zone."""
    return moment if settings.USE_TZ else timezone.make_naive(moment, timezone.get_default_timezone())


def address_of(request: HttpRequest) -> str | None:
    """The client's address of a request; None if the server gives none, or one that a database would refuse."""
    return plain_address(request.META.get("REMOTE_ADDR", ""))


def plain_address(text: str) -> str | None:
    """An address as the database stores it; None for a text that it would refuse."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None  # an IPv4 address on a dual-stack socket
    return str(mapped or found)


@contextmanager
def written(
    verb: str, target: str, tasks: Sequence[tuple[str, str]], *, actor_name: str, **facts: Any
) -> Iterator[AuditEntry]:
    """The same as `recorded` for an actor without a request, such as a terminal command."""
    facts |= {"ids": [list(task) for task in tasks], "count": len(tasks) or 1}
    entry = new_entry(verb, target, actor_name=actor_name, **facts)
    AuditedTask.objects.bulk_create(AuditedTask(entry=entry, pool=pool, task_id=id) for pool, id in tasks)
    try:
        with override(STORED):
            yield entry
    except BaseException as error:  # an exit is an outcome too; it is raised again
        if entry.outcome != Outcome.FAILED:
            entry.outcome = Outcome.UNKNOWN if isinstance(error, OUTAGES) else Outcome.FAILED
        said = str(error) if isinstance(error, QueueOpsError) else type(error).__name__
        entry.detail = kept(said, DETAIL_LENGTH)
        raise
    finally:
        if entry.outcome == Outcome.BEGUN:
            entry.outcome = Outcome.DONE
        entry.save()


@contextmanager
def tolerated() -> Iterator[None]:
    """Suppress an engine error once it is in the entry; an outage goes on to the error page."""
    try:
        yield
    except OUTAGES:
        raise
    except QueueOpsError as error:
        logger.info("%s", error)


def judge(entry: AuditEntry, pool: str, rows: Iterable[Any]) -> None:
    """Store the engine's answer for each task in the entry: its new state, and how many tasks changed.

    A task that already was in the wanted state is neither changed nor refused.
    """
    refused = repeated = 0
    for row in rows:
        detail = kept(row.detail, DETAIL_LENGTH)
        entry.after[f"{pool} {row.id}"] = {"word": row.word, "state": row.state, "detail": detail}
        if row.word == "OK":
            entry.changed += 1
        elif row.word == "REPEAT":
            repeated += 1
        else:
            refused += 1
            entry.detail = entry.detail or detail or str(ANSWERS.get(row.word, row.word.lower()))
    if repeated:
        already = ngettext("%(n)d was already in this state", "%(n)d were already in this state", repeated) % {
            "n": repeated
        }
        entry.detail = f"{already}; {entry.detail}"[:DETAIL_LENGTH] if entry.detail else already
    if refused:
        entry.outcome = Outcome.PARTLY if entry.changed else Outcome.REFUSED


def told(text: str) -> str:
    """A stored text in the language of the reader, if it is a whole message of the catalog or of the engine."""
    shown = gettext(text) if text else ""
    return translated(Stored(text)) if shown == text else shown


def kept(text: str, most: int) -> str:
    """The text for long storage: secrets masked, cut to the column's length."""
    return conf.redactor().text(text)[:most]


def _who(request: HttpRequest) -> dict[str, Any]:
    return {
        "actor_id": request.user.pk,
        "actor_name": request.user.get_username(),
        "address": address_of(request),
        "reason": request.POST.get("reason", "").strip(),
    }
