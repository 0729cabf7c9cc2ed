"""Which tasks an action is meant for: what a form sent, checked and bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Self

import msgspec
from django.core.exceptions import SuspiciousOperation
from django.utils.translation import gettext as _

from queueops.model.ids import ID, NAME

MOST = 500  # of one call of queueops.control


class Choice(msgspec.Struct, frozen=True):
    """Tasks as (pool, id), each once, in the order in which they came."""

    tasks: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, values: Iterable[str]) -> Self:
        """From the values of tick boxes, `<pool> <id>`."""
        tasks = tuple(dict.fromkeys(_task(value) for value in values))
        if len(tasks) > MOST:
            raise SuspiciousOperation(_("At most %(most)d tasks can be chosen at once.") % {"most": MOST})
        return cls(tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def values(self) -> list[str]:
        """As the values of tick boxes."""
        return [f"{pool} {id}" for pool, id in self.tasks]

    def by_pool(self) -> dict[str, list[str]]:
        """The ids, by pool."""
        ids: dict[str, list[str]] = defaultdict(list)
        for pool, id in self.tasks:
            ids[pool].append(id)
        return ids

    def title(self) -> str:
        """The one task, or how many."""
        return self.tasks[0][1] if len(self) == 1 else _("%(count)d tasks") % {"count": len(self)}


def _task(value: str) -> tuple[str, str]:
    pool, space, id = value.partition(" ")
    if not space or not ID.fullmatch(id) or (pool and not NAME.fullmatch(pool)):
        raise SuspiciousOperation(_("The chosen tasks could not be read."))
    return pool, id
