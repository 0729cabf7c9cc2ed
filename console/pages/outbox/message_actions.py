"""Actions on commands between pools: one entry for each verb of `queueops.control`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from console.access.permissions import TABLE, Verb
from console.actions.catalog import Action
from queueops import control


class MessageAction(Action):
    """An action; `call(ids, pool)` acts on some commands, `call_all(pool)` on all dead ones."""

    @property
    def permission(self) -> Verb | None:
        """The permission that the action needs."""
        return TABLE[f"commands-{self.verb}"]

    @property
    def call_all(self) -> Callable[[str], int]:
        """Act on all dead commands of a pool; returns how many."""
        calls: dict[str, Callable[[str], int]] = {
            "requeue": control.requeue_dead_commands,
            "drop": control.drop_dead_commands,
        }
        return calls[self.verb]


def _action(verb: str, *rest: Any, **more: Any) -> MessageAction:
    return MessageAction(verb, *rest, **more)


def _requeue(ids: Sequence[str], pool: str) -> Sequence[Any]:
    return control.requeue_commands(ids, pool)


def _drop(ids: Sequence[str], pool: str) -> Sequence[Any]:
    return control.drop_commands(ids, pool)


ACTIONS: dict[str, MessageAction] = {
    "requeue": _action("requeue", _("Try again"), "rotate-clockwise", _requeue),
    "drop": _action(
        "drop",
        _("Drop"),
        "trash",
        _drop,
        irreversible=True,
        note=_(
            "An end or a turn that it would have told is told again after half a minute or more."
            " A cancelling or a retry is not: cancel what waits for it, and retry that when it has ended."
        ),
    ),
}
