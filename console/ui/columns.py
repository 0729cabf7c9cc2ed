"""Columns of the list of tasks: which a user sees, and by which the list is sorted. Both are kept for the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from console.models import UserColumns
from queueops.inspect import TaskPage, TaskRow
from queueops.model.states import TERMINAL, table

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

USUAL = "failed,lane,ran,since"
SORTED = 500
"""The newest matching tasks that are sorted. The store's index has one order: by the last change of the state."""


def ran_ms(row: TaskRow) -> int | None:
    """The duration of the latest run, or its time until now."""
    if row.begun_ms is None:
        return None
    if row.ended_ms is not None and row.ended_ms >= row.begun_ms:
        return row.ended_ms - row.begun_ms
    return max(0, _now() - row.begun_ms) if row.state in table().leased else None


def waited_ms(row: TaskRow) -> int | None:
    """The time from the push to the latest start, or until now; None for a task that ended without a start."""
    if row.begun_ms is not None:
        return max(0, row.begun_ms - row.created_ms)
    return None if row.state in TERMINAL else max(0, _now() - row.created_ms)


class Column(NamedTuple):
    """A column; `key` is what it is sorted by, if it can be."""

    label: str | Promise
    key: Callable[[TaskRow], float | None] | None = None


COLUMNS: dict[str, Column] = {
    "failed": Column(_("Failed"), lambda row: row.attempt),
    "lane": Column(_("Lane")),
    "worker": Column(_("Worker")),
    "pushed": Column(_("Pushed"), lambda row: row.created_ms),
    "waited": Column(_("Waited"), waited_ms),
    "ran": Column(_("Ran"), ran_ms),
    "since": Column(_("Since")),
}


def columns_of(user: User | AnonymousUser) -> str:
    """The columns that a user sees, joined by commas; a choice that this version does not know is the usual one."""
    if user.pk is None:
        return USUAL
    kept = UserColumns.objects.filter(user=user.pk).values_list("names", flat=True).first()
    return USUAL if kept is None or not _is_known(kept) else kept


def sort_of(user: User | AnonymousUser) -> dict[str, str]:
    """The order that a user has chosen, as a parameter of a URL; empty: the store's."""
    kept = UserColumns.objects.filter(user=user.pk).values_list("sort", flat=True).first()
    return Order.of(kept).params if kept else {}


def keep_columns(user: User | AnonymousUser, names: Iterable[str], sort: str | None = None) -> None:
    """Keep the columns that a user has chosen, also none, and the order; an unknown name resets either."""
    text = ",".join(dict.fromkeys(names))
    chosen = {"names": text if _is_known(text) else USUAL}
    if sort is not None:
        chosen["sort"] = sort if Order.of(sort).column else ""
    UserColumns.objects.update_or_create(pk=user.pk, defaults=chosen)


def orders() -> list[tuple[str, str | Promise]]:
    """The orders that a user can choose, as the parameter `sort` and in words."""
    keyed = [(name, column.label) for name, column in COLUMNS.items() if column.key]
    falling = [(f"-{name}", format_lazy(_("{column}, descending"), column=label)) for name, label in keyed]
    rising = [(name, format_lazy(_("{column}, ascending"), column=label)) for name, label in keyed]
    return [(STORED, _("Latest change of state first")), *falling, *rising]


def _is_known(text: str) -> bool:
    return not text or all(name in COLUMNS for name in text.split(","))


STORED = "-since"
"""The parameter `sort` of the store's order, for a user who has chosen another one."""


class Order(NamedTuple):
    """The order of a list: a column, and whether the lowest value is the first. Without a column: the store's."""

    column: str = ""
    is_rising: bool = False
    is_named: bool = False  # a URL names it, so that the user's own order is not used

    @classmethod
    def of(cls, text: str) -> Order:
        """Read the parameter `sort`: `ran`, or `-ran` for the highest first; any other text is the store's order."""
        name = text.removeprefix("-")
        known = name in COLUMNS and COLUMNS[name].key is not None
        return cls(name, not text.startswith("-"), True) if known else cls(is_named=bool(text))

    @property
    def params(self) -> dict[str, str]:
        """The order as a parameter of a URL."""
        own = f"{'' if self.is_rising else '-'}{self.column}" if self.column else STORED
        return {"sort": own} if self.is_named else {}

    def next_of(self, column: str) -> dict[str, str]:
        """The order behind a click on the head of a column: falling, rising, the store's."""
        if column != self.column:
            return {"sort": f"-{column}"}
        return {"sort": STORED if self.is_rising else column}

    def applied(self, page: TaskPage, limit: int) -> TaskPage:
        """The first rows in this order; rows without a value are the last."""
        if not self.column:
            return page
        rows = tuple(self._sorted(page.rows))[:limit]
        return msgspec.structs.replace(page, rows=rows, next="", partial=False)

    def _sorted(self, rows: Iterable[TaskRow]) -> list[TaskRow]:
        key = COLUMNS[self.column].key or (lambda row: None)
        valued = [(value, row) for row in rows if (value := key(row)) is not None]
        found = [row for _, row in sorted(valued, key=lambda pair: pair[0], reverse=not self.is_rising)]
        return [*found, *(row for row in rows if key(row) is None)]


def _now() -> int:
    return int(time() * 1000)
