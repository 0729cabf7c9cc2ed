"""Registered kinds: the packages that bring their own half of the store, one row for each.

A kind is what a record can be beside a plain task. Its Lua stands in its own package: functions in ``lua/``, modules in
``lua/lib/``. The library of the store takes them from there. The outbox has no records of tasks, but the same row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: its name, the package with its Lua, its records, and the keys beside them.

    ``records`` are values of field ``k``. ``subkeys`` are keys beside such a record: deleted with it, and moved with
    it to the trash and back. The name of a sub-key follows the record's key.
    """

    name: str
    package: str
    records: tuple[str, ...] = ()
    subkeys: tuple[str, ...] = ()


KINDS = (
    Kind(name="mapreduce", package="queueops.kinds.mapreduce", records=("mapreduce",)),
    Kind(
        name="composites",
        package="queueops.kinds.composites",
        records=("chain", "group", "iterator"),
        subkeys=(
            "#children",
            "#open",
            "#results",
            "#planted",
            "#drafts",
            "#asked",
            "#far",
            "#latest",
            "#failures",
        ),
    ),
    Kind(name="outbox", package="queueops.outbox"),
)
