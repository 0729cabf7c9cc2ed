"""Registered kinds: what each kind brings, one row for each.

A kind is what a record can be beside a plain task. All that is its own stands in its own package. The kernel finds it
by the row. Its Lua is there: functions in ``lua/``, modules in ``lua/lib/``. The library of the store takes them from
there. The outbox and the follow-ups have no records of their own, but such a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Role = Literal["store", "control", "inspect", "why"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: its name, the package with its Lua, its records, the keys beside them, and its roles.

    ``records`` are values of field ``k``. ``subkeys`` are keys beside such a record: deleted with it, and moved with
    it to the trash and back. The name of a sub-key follows the record's key.

    A role is a module or a name in it ("module:name"), and is imported when it is first used; empty if there is none:

    - ``store``: a class of calls, a subclass of StoreClient. The broker gets them.
    - ``control``, ``inspect``: modules whose ``__all__`` are names of `queueops.control` and `queueops.inspect`.
    - ``why``: a module with the checks of "why is it not running", as `queueops.inspect.why` calls them.
    """

    name: str
    package: str
    records: tuple[str, ...] = ()
    subkeys: tuple[str, ...] = ()
    store: str = ""
    control: str = ""
    inspect: str = ""
    why: str = ""


KINDS = (
    Kind(
        name="mapreduce",
        package="queueops.kinds.mapreduce",
        records=("mapreduce",),
        store="queueops.kinds.mapreduce.store:MapReduceCalls",
        control="queueops.kinds.mapreduce.control",
        inspect="queueops.kinds.mapreduce.inspect",
        why="queueops.kinds.mapreduce.why",
    ),
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
    Kind(name="follow_ups", package="queueops.follow_ups"),
)


def registered() -> tuple[Kind, ...]:
    """The registered kinds, in the order of their rows."""
    return KINDS


def roles(role: Role) -> Iterator[Any]:
    """What the kinds bring for a role, in the order of their rows. Each is imported here."""
    for kind in registered():
        if path := getattr(kind, role):
            module, _, name = path.partition(":")
            yield getattr(import_module(module), name) if name else import_module(module)


def public_name(role: Role, name: str) -> Any:
    """What a module of a kind has by this name in its ``__all__``. Raises AttributeError."""
    if not name.startswith("_"):
        for module in roles(role):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'queueops.{role}' has no attribute {name!r}")
