"""Actions on messages between pools: some messages, or all that were given up."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.selection import Choice
from console.models import AuditEntry, Outcome
from console.ui.formatting import count
from queueops import control, inspect

ACTIONS: dict[str, Action] = {
    "requeue": Action(
        "requeue_commands",
        lambda ids, pool: control.requeue_commands(ids, pool),
        _("Try again"),
        "rotate-clockwise",
        url="commands-requeue",
    ),
    "drop": Action(
        "drop_commands",
        lambda ids, pool: control.drop_commands(ids, pool),
        _("Drop"),
        "trash",
        irreversible=True,
        note=_(
            "A dropped report of an end or a turn is sent again after 30 seconds or more. A dropped cancel or"
            " retry is not sent again. Cancel the task that waits for it, and retry that task when it has ended."
        ),
        url="commands-drop",
    ),
}
ACTIONS_ON_DEAD: dict[str, Action] = {
    "requeue": ACTIONS["requeue"]._replace(call=lambda pool: control.requeue_dead_commands(pool)),
    "drop": ACTIONS["drop"]._replace(call=lambda pool: control.drop_dead_commands(pool)),
}


class CommandChoice(Choice, frozen=True):
    """Selected messages as (pool, id)."""

    def title(self) -> str:
        """The single message, or the number of messages."""
        if len(self.tasks) == 1:
            return self.tasks[0][1]
        return ngettext("%(count)d message", "%(count)d messages", len(self)) % {"count": len(self)}

    def number(self) -> str:
        """The number of messages."""
        return ngettext("%(n)s message", "%(n)s messages", len(self)) % {"n": count(len(self))}

    def facts(self) -> dict[str, Any]:
        """The messages."""
        return {"before": {"commands": self.values}}

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Act on the messages of each pool."""
        for pool, ids in self.by_pool().items():
            rows = action.call(ids, pool)
            entry.changed += sum(row.word == "OK" for row in rows)
            entry.after |= {f"{pool} {row.id}": {"word": row.word, "was": row.state} for row in rows}
        if entry.changed < len(self):
            entry.outcome = Outcome.PARTLY if entry.changed else Outcome.REFUSED
            entry.detail = gettext(
                "the others do not exist any more, are not pool messages, or are being delivered now"
            )


class DeadCommands(CommandChoice, frozen=True, kw_only=True):
    """All messages of every pool that were given up; `count` is their number now."""

    tasks: tuple[tuple[str, str], ...] = ()
    count: int

    def __len__(self) -> int:
        return self.count

    def target(self) -> str:
        """The place of the messages."""
        return "dead"

    def facts(self) -> dict[str, Any]:
        """None: the messages are not read."""
        return {}

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Act on the messages of each pool that has given up some."""
        for pool in sorted(pool for pool, dead in inspect.dead_commands().items() if dead):
            entry.after[pool] = action.call(pool)
        entry.changed = sum(entry.after.values())
