"""Registered kinds: the rows of `queueops.model.kind_rows`, and those of other packages.

A kind is what a record can be beside a plain task. All that is its own stands in its own package. The kernel finds it
by the row. Its Lua is there: functions in ``lua/``, modules in ``lua/lib/``. The library of the store takes them from
there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar, get_args

from queueops.errors.kinds import BadKind
from queueops.model import subkeys
from queueops.model.fields import CODECS, FOLLOW_UP_FIELDS, KERNEL_FIELDS, Field
from queueops.model.kind import Kind, Role
from queueops.model.kind_rows import KINDS as KINDS

GROUP = "queueops.kinds"
"""Entry points by which other packages bring kinds."""
RESERVED = {
    "records": ("task", *(word for kind in KINDS for word in kind.parts)),
    "subkeys": tuple(each.name for each in subkeys.RECORD),
}
"""Values of field ``k``, and sub-keys, that no kind may take."""
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

NAMED: tuple[Role, ...] = ("control", "inspect", "signals")
"""Roles whose names are public."""
CHECKED: tuple[Role, ...] = ("fields", "store", "states", "part_states", "console", "settings")
"""Roles with a check of their own."""
UNNAMED: tuple[Role, ...] = tuple(role for role in get_args(Role) if role not in (*NAMED, *CHECKED))
"""Other roles that need neither the store nor the console."""


_R = TypeVar("_R")
_CACHED: list[functools._lru_cache_wrapper[Any]] = []


def cached(function: Callable[..., _R]) -> functools._lru_cache_wrapper[_R]:
    """Cache what a function gives for the registered kinds, until `forget`."""
    found = functools.cache(function)
    _CACHED.append(found)
    return found


CONTAINERS = tuple(record for kind in KINDS for record in kind.containers)
COUNTING = tuple(record for kind in KINDS for record in kind.counting)
OWN_WORK = tuple(record for kind in KINDS for record in kind.own_work)
PARTS = tuple(word for kind in KINDS for word in kind.parts)


@cached
def registered() -> tuple[Kind, ...]:
    """The built-in rows, then the kinds of other packages, by name. Raises BadKind; then none is registered.

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
def _of_rows(role: Role) -> tuple[Any, ...]:
    return tuple(_imported(kind, role) for kind in KINDS if getattr(kind, role))


@cached
def roles(role: Role) -> tuple[Any, ...]:
    """What the kinds bring for a role, in the order of their rows. Each is imported here. Raises BadKind."""
    return tuple(_imported(kind, role) for kind in registered() if getattr(kind, role))


def brought(found: Iterable[Kind], role: Role) -> list[tuple[Kind, Any]]:
    """Those of some kinds that bring something for a role, each with what it brings. Raises BadKind."""
    return [(kind, _imported(kind, role)) for kind in found if getattr(kind, role)]


def leased_as() -> dict[str, str]:
    """The leased state by record, or by record and phase, where that is not ``locked``."""
    return {phase: state for kind in registered() for phase, state in kind.leased_as.items()}


def only(role: Role) -> Any:
    """What the first kind with this role brings. Raises LookupError if no kind has it."""
    for found in roles(role):
        return found
    raise LookupError(f"no registered kind brings the role {role}")


def settings_readers() -> dict[str, str]:
    """The kinds that have settings: the key in QUEUEOPS, and the name of the kind."""
    return {kind.name.upper(): kind.name for kind in KINDS if kind.settings}


@cached
def settings_reader(name: str) -> Any:
    """The reader of the settings of the kind with this name."""
    return next(_imported(kind, "settings") for kind in KINDS if kind.name == name)


def command_of(module: str) -> Any:
    """The command that a kind brings, by the full name of the module in which Django looks for it."""
    name = module.rpartition(".")[2]
    return next(_at(kind, "commands", kind.commands[name]) for kind in KINDS if name in kind.commands)


@cached
def records() -> tuple[str, ...]:
    """The values of field ``k`` of the records of kinds, in the order of their rows."""
    return tuple(record for kind in registered() for record in kind.records)


@cached
def of_record(record: str, role: Role) -> Any:
    """What the kind of a record brings for a role; None if it brings nothing, and for a record of no kind."""
    for kind in registered():
        if record in kind.records and getattr(kind, role):
            return _imported(kind, role)
    return None


def public_name(role: Role, name: str) -> Any:
    """What a module of a kind has by this name in its ``__all__``. Raises AttributeError.

    The names of the built-in rows are found whatever is wrong with a kind of another package.
    """
    if not name.startswith("_"):
        for found in (_of_rows, roles):
            for module in found(role):
                if name in module.__all__:
                    return getattr(module, name)
    raise AttributeError(f"module 'queueops.{role}' has no attribute {name!r}")


def check_public_names(role: Role) -> None:
    """Raise BadKind for a module without ``__all__``, and for a name that two kinds have in theirs."""
    owners: dict[str, str] = {}
    for kind in registered():
        if getattr(kind, role):
            for name in getattr(_imported(kind, role), "__all__", [""]):
                if not name:
                    raise BadKind(name=kind.name, reason=f"its {role} {getattr(kind, role)} has no __all__")
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
    """Read the registered kinds anew, after rows or installed packages have changed, as in a test."""
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
    brought = _imported(kind, "fields") if kind.fields else {}
    if not isinstance(brought, Mapping) or not all(isinstance(each, Field) for each in brought.values()):
        raise BadKind(
            name=kind.name, reason=f"its fields {kind.fields} must map the name of each in the store to a Field"
        )
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


def _imported(kind: Kind, role: Role) -> Any:
    return _at(kind, role, getattr(kind, role))


def _at(kind: Kind, role: str, path: str) -> Any:
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name) if name else import_module(module)
    except (ImportError, AttributeError) as error:
        raise BadKind(name=kind.name, reason=f"its {role} {path} cannot be imported: {error}") from error
