"""Denied actions in the audit log: one row a day for each logged-in user and action.

Further attempts on that day increase the row's count, so that a user cannot fill the database with them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, router
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from console.access.permissions import changes
from console.audit.log import DETAIL_LENGTH, address_of, kept, new_entry
from console.models import AuditEntry, Outcome
from console.ui.kind_pages import denied_verb

ONE_ROW = timedelta(days=1)
TARGETS = ("id", "pool", "lane", "number", "pk")
VERBS = {
    "task-edit-save": "edit",
    **{f"error-{each}": f"{each}_error" for each in ("resolve", "reopen", "note")},
    "name-push": "push",
    "lane-set": "set_lane",
    "pool-empty_trash": "empty_trash",
    "audit-go-on": "go_on",
    "audit-operation": "steer_operation",
}
"""The verbs of URLs whose names do not end with the verb of the audit log."""
PREFIXES = (
    "tasks-all-",
    "tasks-",
    "task-",
    "lane-",
    "name-",
    "worker-",
    "pool-",
    "alert-rule-",
    "alert-",
)
THINGS = {
    "name-": "_name",
    "pool-": "_pool",
    "alert-rule-": "_alert",
    "alert-": "_alert",
}

logger = logging.getLogger("console.audit")


def record(request: HttpRequest, name: str, why: str, kwargs: Mapping[str, Any]) -> None:
    """Record that the user was denied the action of the URL `name`. An error of the database is only logged."""
    if not request.user.is_authenticated or not changes(name):
        return
    try:
        _record(request, _verb_of(name), why, kwargs)
    except DatabaseError as error:  # for example a read-only database: the action stays denied
        logger.warning("The denied action %s of %s is not in the audit log: %s", name, request.user, error)


def _record(request: HttpRequest, verb: str, why: str, kwargs: Mapping[str, Any]) -> None:
    rows = AuditEntry.objects.using(router.db_for_write(AuditEntry))
    today = rows.filter(actor_id=request.user.pk, verb=verb, outcome=Outcome.DENIED, at__gt=timezone.now() - ONE_ROW)
    pk = today.values_list("pk", flat=True).first()
    if pk is None or not rows.filter(pk=pk).update(count=F("count") + 1):
        target = "/".join(str(kwargs[part]) for part in TARGETS if part in kwargs)
        new_entry(
            verb,
            target,
            actor_id=request.user.pk,
            actor_name=request.user.get_username(),
            address=address_of(request),
            outcome=Outcome.DENIED,
            count=1,
            detail=kept(why, DETAIL_LENGTH),
        )  # the form's reason is not stored: the form may be too large to read


def _verb_of(name: str) -> str:
    """The verb of the action behind a URL: `retry` of `tasks-all-retry`, `set_lane`, or what the kind names."""
    if own := denied_verb(name) or VERBS.get(name, ""):
        return own
    prefix = next((each for each in PREFIXES if name.startswith(each)), "")
    return name.removeprefix(prefix) + THINGS.get(prefix, "")
