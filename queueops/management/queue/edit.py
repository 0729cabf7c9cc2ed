"""Edit of a task's arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control
from queueops.inspect.redaction import KEPT, masked_arguments
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.lookup import task_of
from queueops.management.queue.report import report
from queueops.model import kinds
from queueops.model.redact import cut


def edit(
    *,
    id: str,
    positional: list[Any] | None,
    named: dict[str, Any] | None,
    pool: str,
    yes: bool,
    as_json: bool,
    **_: Any,
) -> Iterator[str]:
    """Replace all or some arguments of a task; if it has ended, or is in back-off, it runs again with them."""
    if positional is None and named is None:
        raise CommandError("Edit what? Give --args, --kwargs or both.", returncode=2)
    found = task_of(id, pool)
    if not yes:
        for question in filter(None, (brought.lost_by_edit(found) for brought in kinds.roles("details"))):
            confirm(question)
    before = {"args": cut(found.own_args_json, KEPT)}
    masked = masked_arguments(positional, named, found.kind, found.name, first=int(found.first_is_result))
    after = {"args": masked}  # null: the present ones
    with audit.recorded(verb="edit", pool=found.pool, ids=[id], before=before, after=after) as act:
        act.rows = [control.edit_and_retry(id, positional, named, found.pool, who=act.who)]
    return report(act.rows, as_json=as_json)
