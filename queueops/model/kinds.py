"""Registered kinds: those of `queueops.kinds`, and those of other packages.

A kind is what a record can be beside a plain task. All that is its own stands in its own package, also its Lua:
functions in ``lua/``, modules in ``lua/lib/``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

from queueops.errors.kinds import BadKind
from queueops.model import subkeys
from queueops.model.fields import CODECS, FOLLOW_UP_FIELDS, KERNEL_FIELDS, Field
from queueops.model.kind import Kind

KINDS: tuple[Kind, ...] = import_module("queueops.kinds").KINDS
"""The built-in kinds. The kernel does not import them: they are above it."""
GROUP = "queueops.kinds"
"""Entry points by which other packages bring kinds."""
DECLARED = {
    "name": (re.compile(r"[a-z][a-z0-9_]*"), "sample"),
    "records": (re.compile(r"[a-z][a-z0-9_]*"), "sample"),
    "subkeys": (re.compile(r"#[a-z][a-z0-9_]*"), "#rounds"),
    "own_subkeys": (re.compile(r"#(?:[a-z][a-z0-9_]*(?::[a-z]+)?|<number>(?:~|#[a-z]+)?)"), "#parts:done"),
}
"""What a kind declares as its own, how it is written, and an example."""
FIELD = re.compile(r"[a-z][a-z0-9]*"), re.compile(r"[a-z][a-z0-9_]*")
"""How the names of a record field are written: in the store, and in Python."""
NOT_FIELDS = ("id", "pool", "own")
"""Names in Python that no field may have: a record has them beside its fields."""
TYPES = ("string", "hash", "list", "set", "zset")
"""Types of Redis that a sub-key may have."""

NAMED = ("control", "inspect", "tree.signals")
"""Roles whose names are public."""
UNNAMED = (
    *("outbox", "results", "details", "why", "cli", "checks", "examines"),
    *("parts.figures", "parts.status", "tree.part", "tree.add", "tree.endings"),
    *("work.handlers", "work.start", "work.facts", "work.closed"),
)
"""Other roles that need neither the store nor the console."""


_R = TypeVar("_R")
_CACHED: list[functools._lru_cache_wrapper[Any]] = []


def cached(function: Callable[..., _R]) -> functools._lru_cache_wrapper[_R]:
    """Cache what a function gives for the registered kinds, until `forget`."""
    found = functools.cache(function)
    _CACHED.append(found)
    return found


CONTAINERS = tuple(record for kind in KINDS if kind.tree for record in kind.tree.containers)
COUNTING = tuple(record for kind in KINDS for each in (kind.parts, kind.tree) if each for record in each.counting)
OWN_WORK = tuple(record for kind in KINDS for record in kind.work.own)
PARTS = tuple(word for kind in KINDS if kind.parts for word in kind.parts.words)
RESERVED = {"records": ("task", *PARTS), "subkeys": tuple(each.name for each in subkeys.RECORD)}
"""Values of field ``k``, and sub-keys, that no kind may take."""


@cached
def registered() -> tuple[Kind, ...]:
    """The built-in kinds, then those of other packages, by name. Raises BadKind; then none is registered.

    Another package brings a kind by an entry point of the group `queueops.kinds`, whose object is a `Kind`.
    """
    found = (*KINDS, *_of_other_packages())
    _check(found)
    return found


def fields() -> Mapping[str, Field]:
    """The fields of a record, by the name in the store: those of the kernel, then those of the kinds."""
    return fields_of(registered())


@cached
def fields_of(found: tuple[Kind, ...]) -> dict[str, Field]:
    """The fields of a record with these kinds. Raises BadKind for one that two of them have, or the kernel."""
    known = KERNEL_FIELDS | FOLLOW_UP_FIELDS
    owners = dict.fromkeys(known, "the kernel")
    named = dict.fromkeys((*NOT_FIELDS, *(each.name for each in known.values())), "the kernel")
    for kind in found:
        for short, each in _fields_brought(kind).items():
            for name, taken in ((short, owners), (each.name, named)):
                if name in taken:
                    reason = f"{taken[name]} and {kind.name} both have the record field {name}"
                    raise BadKind(name=kind.name, reason=reason)
                taken[name] = kind.name
            known[short] = each
    return known


@cached
def _of_built_in(role: str) -> tuple[Any, ...]:
    return tuple(each for _, each in brought(KINDS, role))


@cached
def roles(role: str) -> tuple[Any, ...]:
    """What the kinds bring for a role, such as `store` or `work.facts`. Each is imported here. Raises BadKind."""
    return tuple(each for _, each in brought(registered(), role))


def brought(found: Iterable[Kind], role: str) -> list[tuple[Kind, Any]]:
    """Those of some kinds that bring something for a role, each with what it brings. Raises BadKind."""
    return [(kind, each) for kind in found if (each := _brought(kind, role)) is not None]


def leased_as() -> dict[str, str]:
    """The leased state by record, or by record and phase, where that is not ``locked``."""
    return {phase: state for states in roles("states") for phase, state in states.leased_as.items()}


def only(role: str) -> Any:
    """What the first kind with this role brings. Raises LookupError if no kind has it."""
    for found in roles(role):
        return found
    raise LookupError(f"no registered kind brings the role {role}")


def settings_readers() -> dict[str, str]:
    """The kinds that have settings: the key in QUEUEOPS, and the name of the kind."""
    return {kind.name.upper(): kind.name for kind in KINDS if type(kind).settings is not Kind.settings}


@cached
def settings_reader(name: str) -> Any:
    """The reader of the settings of the kind with this name."""
    return next(_brought(kind, "settings") for kind in KINDS if kind.name == name)


@cached
def records() -> tuple[str, ...]:
    """The values of field ``k`` of the records of kinds."""
    return tuple(record for kind in registered() for record in kind.records)


@cached
def of_record(record: str, role: str) -> Any:
    """What the kind of a record brings for a role; None if it brings nothing, and for a record of no kind."""
    return next((_brought(kind, role) for kind in registered() if record in kind.records), None)


def public_name(role: str, name: str) -> Any:
    """What a module of a kind has by this name in its ``__all__``. Raises AttributeError.

    The names of the built-in kinds are found whatever is wrong with a kind of another package.
    """
    if not name.startswith("_"):
        for found in (_of_built_in, roles):
            for module in found(role):
                if name in module.__all__:
                    return getattr(module, name)
    raise AttributeError(f"module 'queueops.{role.rpartition('.')[2]}' has no attribute {name!r}")


def check_public_names(role: str) -> None:
    """Raise BadKind for a module without ``__all__``, and for a name that two kinds have in theirs."""
    owners: dict[str, str] = {}
    for kind, module in brought(registered(), role):
        for name in getattr(module, "__all__", [""]):
            if not name:
                raise BadKind(name=kind.name, reason=f"its {role} {module.__name__} has no __all__")
            if name in owners:
                raise BadKind(name=kind.name, reason=f"{owners[name]} has the name {name} of queueops.{role}, too")
            owners[name] = kind.name


def check_words() -> None:
    """Raise BadKind for a word of the consistency check, or of a log line, that two kinds bring."""
    owners: dict[tuple[str, str], str] = {}
    found = [(kind, "examines", word) for kind, words in brought(registered(), "examines") for word in words]
    found += [(kind, "entered", word) for kind, told in brought(registered(), "details") for word in told.entered]
    for kind, what, word in found:
        if (what, word) in owners:
            reason = f"the kinds {owners[what, word]} and {kind.name} both have {word} among their {what}"
            raise BadKind(name=kind.name, reason=reason)
        owners[what, word] = kind.name


def forget() -> None:
    """Read the registered kinds anew, after kinds or installed packages have changed, as in a test."""
    for each in _CACHED:
        each.cache_clear()


def _of_other_packages() -> Iterator[Kind]:
    from importlib.metadata import entry_points  # slow to import, and not needed before the first use of the store

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            found = point.load()
        except Exception as error:  # the code of another package runs here
            raise BadKind(name=point.name, reason=f"{point.value} cannot be imported: {error}") from error
        if not isinstance(found, Kind):
            raise BadKind(name=point.name, reason=f"{point.value} is {found!r}, and must be a Kind")
        yield found


def _check(found: tuple[Kind, ...]) -> None:
    """Raise BadKind for a name that is not valid, and for one that two kinds declare."""
    owned: dict[str, dict[str, str]] = {what: dict.fromkeys(names, "task") for what, names in RESERVED.items()}
    for what, (valid, example) in DECLARED.items():
        owners = owned.setdefault(what.removeprefix("own_"), {})
        for kind in found:
            value = getattr(kind, what)
            if what.endswith("subkeys"):
                _check_types(kind, what, value)
            for each in (value,) if isinstance(value, str) else value:
                if not valid.fullmatch(each):
                    reason = f"{each!r} among its {what} is not valid; write it as {example!r}"
                    raise BadKind(name=kind.name, reason=reason)
                if each in owners:
                    reason = f"the kinds {owners[each]} and {kind.name} both have {each} among their {what}"
                    raise BadKind(name=kind.name, reason=reason)
                owners[each] = kind.name
    fields_of(found)


def _fields_brought(kind: Kind) -> Mapping[str, Field]:
    """The fields that a kind declares. Raises BadKind for one that is not valid."""
    brought = _brought(kind, "fields") or {}
    if not isinstance(brought, Mapping) or not all(isinstance(each, Field) for each in brought.values()):
        raise BadKind(name=kind.name, reason="its fields must map the name of each in the store to a Field")
    for short, each in brought.items():
        for name, valid in zip((short, each.name), FIELD, strict=True):
            if not valid.fullmatch(name):
                raise BadKind(name=kind.name, reason=f"{name!r} among its fields is not valid; write it as 'rounds'")
        if each.codec not in CODECS:
            reason = f"{each.codec!r}, the codec of its field {short}, is none of {', '.join(CODECS)}"
            raise BadKind(name=kind.name, reason=reason)
    return brought


def _check_types(kind: Kind, what: str, subkeys: Any) -> None:
    if not isinstance(subkeys, Mapping):
        raise BadKind(name=kind.name, reason=f"its {what} are {subkeys!r}, and must map each name to its Redis type")
    for name, type_ in subkeys.items():
        if type_ not in TYPES:
            reason = f"{type_!r}, the type of {name} among its {what}, is none of {', '.join(TYPES)}"
            raise BadKind(name=kind.name, reason=reason)


def _brought(kind: Kind, role: str) -> Any:
    """What a kind brings for a role; None for nothing. Raises BadKind."""
    place, _, name = role.rpartition(".")
    holder = getattr(kind, place) if place else kind
    try:
        return None if holder is None else _pages(kind.console) if name == "console" else getattr(holder, name)()
    except (ImportError, AttributeError) as error:
        raise BadKind(name=kind.name, reason=f"its {role} cannot be imported: {error}") from error


def _pages(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name) if path else None
