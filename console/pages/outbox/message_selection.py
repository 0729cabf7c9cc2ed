"""Which commands an action is meant for: some by pool and id, or all that were given up."""

from __future__ import annotations

from django.utils.translation import ngettext

from console.actions.selection import Choice


class CommandChoice(Choice, frozen=True):
    """Commands as (pool, id); `dead` is how many were given up, when all of those are meant."""

    dead: int = 0

    def __len__(self) -> int:
        return self.dead or len(self.tasks)

    def title(self) -> str:
        """The one command, or how many."""
        if not self.dead and len(self) == 1:
            return self.tasks[0][1]
        return ngettext("%(count)d command", "%(count)d commands", len(self)) % {"count": len(self)}
