"""The audit log's only writer: every action goes through `recorded`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.models import AuditedTask, AuditEntry, Outcome
from queueops import conf
from queueops.errors import BrokerUnavailable, EmbeddedFailed, QueueOpsError, StoreFull

logger = logging.getLogger("console.audit")

OUTAGES = (BrokerUnavailable, EmbeddedFailed, StoreFull)
DETAIL_LENGTH = 1000


@contextmanager
def recorded(
    request: HttpRequest, verb: str, target: str, *, tasks: Sequence[tuple[str, str]] = (), **facts: Any
) -> Iterator[AuditEntry]:
    """Write an entry before the action, and how it ended after it, whatever happens.

    An entry that stays "begun" is of a process that died in between. The body sets what it learns on the entry;
    an error of the engine is recorded and raised on.
    """
    with written(verb, target, tasks, **(_who(request) | facts)) as entry:
        yield entry


def begin(request: HttpRequest, verb: str, target: str, **facts: Any) -> AuditEntry:
    """An entry of an action that takes longer than a request: a later request writes its end."""
    who = _who(request)
    texts = {"target": kept(target, 400), "reason": kept(who["reason"], 500)}
    return AuditEntry.objects.create(verb=verb, **(who | texts | facts))


def address_of(request: HttpRequest) -> str | None:
    """Where a request came from; None when the server says nothing, or nothing that a database takes for an address."""
    try:
        found = ip_address(request.META.get("REMOTE_ADDR", "").partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None  # a socket of both families says so
    return str(mapped or found)


@contextmanager
def written(
    verb: str, target: str, tasks: Sequence[tuple[str, str]], *, actor_name: str, reason: str = "", **facts: Any
) -> Iterator[AuditEntry]:
    """The same for an actor without a request, such as a command in a terminal."""
    entry = AuditEntry.objects.create(
        actor_name=actor_name[:150],
        verb=verb,
        target=kept(target, 400),
        ids=[list(task) for task in tasks],
        count=len(tasks) or 1,
        reason=kept(reason, 500),
        **facts,
    )
    AuditedTask.objects.bulk_create(AuditedTask(entry=entry, pool=pool, task_id=id) for pool, id in tasks)
    try:
        yield entry
    except BaseException as error:  # also an exit in the middle is an end to tell; it is raised on
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
    """Let an error of the engine end here, once it is in the entry; an outage goes on to the page that tells of it."""
    try:
        yield
    except OUTAGES:
        raise
    except QueueOpsError as error:
        logger.info("%s", error)


def attempt(
    request: HttpRequest, verb: str, target: str, call: Callable[[], Any], *, after: dict[str, Any], **facts: Any
) -> AuditEntry:
    """One call that is not about tasks, recorded; a call that answers False has found nothing to act on."""
    with tolerated(), recorded(request, verb, target, **facts) as entry:
        if call() is False:
            entry.outcome, entry.detail = Outcome.REFUSED, _("there is none of this name any more")
        else:
            entry.after = after
    return entry


def judge(entry: AuditEntry, pool: str, rows: Iterable[Any]) -> None:
    """Take over what the engine answered for each task: how many changed, and what became of each.

    A task that was so already is neither changed nor refused.
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
            entry.detail = entry.detail or detail or row.word.lower()
    if repeated:
        already = ngettext("%(n)d was so already", "%(n)d were so already", repeated) % {"n": repeated}
        entry.detail = f"{already}; {entry.detail}"[:DETAIL_LENGTH] if entry.detail else already
    if refused:
        entry.outcome = Outcome.PARTLY if entry.changed else Outcome.REFUSED


def kept(text: str, most: int) -> str:
    """What may be kept for years: without secrets, and so long that the column takes it."""
    return conf.redactor().text(text)[:most]


def _who(request: HttpRequest) -> dict[str, Any]:
    return {
        "actor_id": request.user.pk,
        "actor_name": request.user.get_username(),
        "address": address_of(request),
        "reason": request.POST.get("reason", "").strip(),
    }
