"""Actions on rows of the outbox that were given up."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.selection import Choice
from console.models import AuditEntry, Outcome
from console.ui.formatting import count
from queueops import control

ACTIONS: dict[str, Action] = {
    "retry": Action(
        "retry_outbox",
        lambda ids, database: control.retry_outbox(ids, database),
        _("Try again"),
        "rotate-clockwise",
        url="outbox-retry",
    ),
    "drop": Action(
        "drop_outbox",
        lambda ids, database: control.drop_outbox(ids, database),
        _("Delete"),
        "trash",
        irreversible=True,
        note=_("The push of a deleted row is lost: its task never runs."),
        url="outbox-drop",
    ),
}


class RowChoice(Choice, frozen=True):
    """Selected rows as (database, number)."""

    def title(self) -> str:
        """The single row, or the number of rows."""
        return self.tasks[0][1] if len(self.tasks) == 1 else self.number()

    def number(self) -> str:
        """The number of rows."""
        return rows_in_words(len(self))

    def facts(self) -> dict[str, Any]:
        """The rows."""
        return {"before": {"rows": self.values}}

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Act on the rows of each database."""
        for database, ids in self.by_pool().items():
            changed = action.call(_numbers(ids), database)
            entry.changed += len(changed)
            entry.after[database] = changed
        if entry.changed < len(self):
            entry.outcome = Outcome.PARTLY if entry.changed else Outcome.REFUSED
            entry.detail = gettext("the others are not among the rows that were given up")


def rows_in_words(number: int) -> str:
    """How many rows, in words."""
    return ngettext("%(n)s row", "%(n)s rows", number) % {"n": count(number)}


def _numbers(ids: list[str]) -> list[int]:
    if not all(id.isascii() and id.isdigit() and len(id) < 19 for id in ids):
        raise SuspiciousOperation(gettext("A row of the outbox has a number."))
    return [int(id) for id in ids]
