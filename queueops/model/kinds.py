"""Registered kinds: the packages that bring their own half of the store, one row for each.

A kind is what a record can be beside a plain task. Its Lua stands in its own package: functions in ``lua/``, modules in
``lua/lib/``. The library of the store takes them from there. The outbox has no records of tasks, but the same row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: its name, and the package with its Lua."""

    name: str
    package: str


KINDS = (
    Kind(name="mapreduce", package="queueops.kinds.mapreduce"),
    Kind(name="composites", package="queueops.kinds.composites"),
    Kind(name="outbox", package="queueops.outbox"),
)
