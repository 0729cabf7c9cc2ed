"""Command selection: the selected commands of an action, by pool and id, or all dead ones."""

from __future__ import annotations

from django.utils.translation import ngettext

from console.actions.selection import Choice


class CommandChoice(Choice, frozen=True):
    """Selected commands as (pool, id); `dead` counts the dead ones when all of those are selected."""

    dead: int = 0

    def __len__(self) -> int:
        return self.dead or len(self.tasks)

    def title(self) -> str:
        """The single command, or the number of commands."""
        if not self.dead and len(self) == 1:
            return self.tasks[0][1]
        return ngettext("%(count)d command", "%(count)d commands", len(self)) % {"count": len(self)}
