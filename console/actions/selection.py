"""Task selection: the selected tasks of an action, as the form sent them, checked and bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Self

import msgspec
from django.core.exceptions import SuspiciousOperation
from django.utils.translation import gettext as _

from queueops.model.ids import ID, NAME

MOST = 500  # the most for one call of queueops.control


class Choice(msgspec.Struct, frozen=True):
    """Selected tasks as (pool, id), without duplicates, in the order of the form."""

    tasks: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, values: Iterable[str]) -> Self:
        """Parse the values of checkboxes, `<pool> <id>`."""
        tasks = tuple(dict.fromkeys(_task(value) for value in values))
        if len(tasks) > MOST:
            raise SuspiciousOperation(_("At most %(most)d tasks can be chosen at once.") % {"most": MOST})
        return cls(tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def values(self) -> list[str]:
        """The selection as values of checkboxes."""
        return [f"{pool} {id}" for pool, id in self.tasks]

    def by_pool(self) -> dict[str, list[str]]:
        """The ids of the tasks, by pool."""
        ids: dict[str, list[str]] = defaultdict(list)
        for pool, id in self.tasks:
            ids[pool].append(id)
        return ids

    def title(self) -> str:
        """The id of a single task, or the number of tasks."""
        return self.tasks[0][1] if len(self) == 1 else _("%(count)d tasks") % {"count": len(self)}


def _task(value: str) -> tuple[str, str]:
    pool, space, id = value.partition(" ")
    if not space or not ID.fullmatch(id) or (pool and not NAME.fullmatch(pool)):
        raise SuspiciousOperation(_("The chosen tasks could not be read."))
    return pool, id
