"""Error groups of the console: one row for an error, whatever its pools, with what operators have noted about it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.models import ErrorTriage
from queueops.inspect import ErrorRow, HistoryMark

NEW, REGRESSED, ONGOING, RESOLVED = "new", "regressed", "ongoing", "resolved"
STATES: dict[str, str | Promise] = {
    NEW: _("new"),
    REGRESSED: _("came again"),
    ONGOING: _("ongoing"),
    RESOLVED: _("resolved"),
}
FILTERS: dict[str, str | Promise] = {
    "": _("open"),
    NEW: _("new since the release"),
    REGRESSED: _("came again"),
    "mine": _("mine"),
    "muted": _("muted"),
    RESOLVED: _("resolved"),
}
"""The filters of the list; open errors are neither muted nor resolved."""


class ErrorGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of one fingerprint in all pools; `rows` are those of the pools, the latest failure first."""

    rows: tuple[ErrorRow, ...]
    state: str
    release: HistoryMark | None = None  # of a new error: the release before its first failure
    resolved_ms: int | None = None
    assignee: str = ""
    note: str = ""

    @property
    def latest(self) -> ErrorRow:
        """The row of the pool with the latest failure: type, message, task and sample are those of it."""
        return self.rows[0]

    @property
    def fingerprint(self) -> str:
        """What is the same in all pools."""
        return self.latest.fingerprint

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools where it occurs."""
        return tuple(sorted(row.pool for row in self.rows))

    @property
    def count(self) -> int:
        """The number of failures."""
        return sum(row.count for row in self.rows)

    @property
    def failed(self) -> int:
        """The number of tasks that are now in the state failed because of it."""
        return sum(row.failed for row in self.rows)

    @property
    def first_ms(self) -> int:
        """The first failure."""
        return min(row.first_ms for row in self.rows)

    @property
    def last_ms(self) -> int:
        """The latest failure."""
        return self.latest.last_ms

    @property
    def muted_until_ms(self) -> int | None:
        """Until then its failures raise no alarm; None: it is not muted now."""
        until = max(row.muted_until_ms or 0 for row in self.rows)
        return until if until > time.time() * 1000 else None

    @property
    def label(self) -> str:
        """The state as a word."""
        return str(STATES[self.state])

    def fits(self, show: str, user: str) -> bool:
        """Whether it belongs to a filter of the list."""
        if show == "mine":
            return self.assignee == user
        if show == "muted":
            return self.muted_until_ms is not None
        if show:
            return self.state == show
        return self.muted_until_ms is None and self.state != RESOLVED


def grouped(rows: Iterable[ErrorRow]) -> list[ErrorGroup]:
    """The groups of these rows, the latest failure first, with what the database has of them."""
    of_each: dict[str, list[ErrorRow]] = {}
    for row in sorted(rows, key=lambda row: -row.last_ms):
        of_each.setdefault(row.fingerprint, []).append(row)
    if not of_each:
        return []
    noted = {each.fingerprint: each for each in ErrorTriage.objects.filter(fingerprint__in=of_each)}
    return [_group(tuple(each), noted.get(fingerprint)) for fingerprint, each in of_each.items()]


def facts(group: ErrorGroup) -> Mapping[str, Any]:
    """What operators have noted, for the audit log; the text of a note is its reason."""
    return {name: getattr(group, name) for name in ("resolved_ms", "muted_until_ms", "assignee")}


def _group(rows: tuple[ErrorRow, ...], noted: ErrorTriage | None) -> ErrorGroup:
    first, last = min(row.first_ms for row in rows), rows[0].last_ms
    release = max((row.release for row in rows if row.release), key=lambda mark: mark.at_ms, default=None)
    is_new = release is not None and first >= release.at_ms
    resolved_ms = noted.resolved_ms if noted else None
    state = NEW if is_new else ONGOING
    if resolved_ms is not None:
        state = RESOLVED if last <= resolved_ms else REGRESSED
    return ErrorGroup(
        rows=rows,
        state=state,
        release=release if is_new else None,
        resolved_ms=resolved_ms,
        assignee=noted.assignee if noted else "",
        note=noted.note if noted else "",
    )
