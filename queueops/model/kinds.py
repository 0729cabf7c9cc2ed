"""Registered kinds: what each kind brings, one row for each.

A kind is what a record can be beside a plain task. All that is its own stands in its own package. The kernel finds it
by the row. Its Lua is there: functions in ``lua/``, modules in ``lua/lib/``. The library of the store takes them from
there. The outbox, the follow-ups and the schedules have no records of their own, but such rows.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from queueops.errors.kinds import BadKind
from queueops.model.fields import CODECS, KERNEL_FIELDS, Field
from queueops.model.kind import Kind, Role

GROUP = "queueops.kinds"
"""Entry points by which other packages bring kinds."""
RESERVED = {"records": ("task", "chunk"), "subkeys": ("#log", "#next", "#last", "#done")}
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
UNNAMED: tuple[Role, ...] = (
    *("handlers", "results", "part", "dispatcher", "why", "cli", "alarms", "notes"),
    *("checks", "start_checks", "duty", "eager", "start", "examines", "facts", "closed", "refuses", "finder"),
    "endings",
)
"""Other roles that need neither the store nor the console."""


KINDS = (
    Kind(
        name="mapreduce",
        package="queueops.kinds.mapreduce",
        records=("mapreduce",),
        leased_as={"mapreduce": "mapping", "mapreduce reduce": "reducing"},
        counting=("mapreduce",),
        parts=("chunk",),
        own_subkeys={
            **dict.fromkeys(("#chunks:pending", "#chunks:active", "#chunks:errored", "#chunks:done"), "zset"),
            **dict.fromkeys(("#chunks:failed", "#chunks:stages"), "zset"),
            **dict.fromkeys(("#chunks:twins", "#chunks:unable"), "set"),
            **dict.fromkeys(("#chunks:by", "#chunks:edits", "#<number>", "#<number>~"), "hash"),
            "#<number>#log": "list",
        },
        fields="queueops.kinds.mapreduce.fields:FIELDS",
        store="queueops.kinds.mapreduce.store:MapReduceCalls",
        part_states="queueops.kinds.mapreduce.states:CHUNKS",
        eager="queueops.kinds.mapreduce.eager:EagerChunks",
        control="queueops.kinds.mapreduce.control",
        inspect="queueops.kinds.mapreduce.inspect",
        why="queueops.kinds.mapreduce.why",
        cli="queueops.kinds.mapreduce.cli:COMMANDS",
        console="console.kinds.mapreduce.registration:PAGES",
    ),
    Kind(
        name="composites",
        package="queueops.kinds.composites",
        records=("chain", "group", "iterator"),
        containers=("chain", "group"),
        counting=("iterator",),
        subkeys={
            **dict.fromkeys(("#children", "#planted", "#drafts"), "zset"),
            **dict.fromkeys(("#open", "#asked"), "set"),
            **dict.fromkeys(("#results", "#far"), "hash"),
            **dict.fromkeys(("#latest", "#failures"), "list"),
        },
        fields="queueops.kinds.composites.fields:FIELDS",
        store="queueops.kinds.composites.store:CompositeCalls",
        results="queueops.kinds.composites.results:value_of",
        eager="queueops.kinds.composites.eager:EagerComposites",
        part="queueops.kinds.composites.parts:Signature",
        inspect="queueops.kinds.composites.inspect",
        signals="queueops.kinds.composites.signals",
        endings="queueops.kinds.composites.end_signals",
        why="queueops.kinds.composites.why",
        console="console.kinds.composites.registration:PAGES",
    ),
    Kind(
        name="outbox",
        package="queueops.outbox",
        keys={
            **dict.fromkeys(("commands", "commands:dead", "commands_locked"), "zset"),
            "command:<id>": "hash",
        },
        store="queueops.outbox.store:OutboxCalls",
        dispatcher="queueops.outbox.dispatcher:Outbox",
        loggers=("queueops.outbox",),
        control="queueops.outbox.control",
        inspect="queueops.outbox.inspect",
        cli="queueops.outbox.cli:COMMANDS",
    ),
    Kind(
        name="jobs",
        package="queueops.kinds.jobs",
        records=("job", "callback", "file_deletion"),
        fields="queueops.kinds.jobs.fields:FIELDS",
        keys={
            "api:<token>": "string",
            "files": "zset",
            "files:notes": "hash",
            "full_disks": "hash",
            "job_counts": "hash",
            "lane:<lane>#jobs": "set",
        },
        names=("callback", "delete_files", "download"),
        store="queueops.kinds.jobs.store:JobCalls",
        handlers="queueops.kinds.jobs.handlers",
        control="queueops.kinds.jobs.control",
        inspect="queueops.kinds.jobs.inspect",
        why="queueops.kinds.jobs.why",
        alarms="queueops.kinds.jobs.alarms:alarms",
        console="console.kinds.jobs.registration:PAGES",
        settings="queueops.kinds.jobs.settings:read_settings",
        checks="queueops.kinds.jobs.checks:check_jobs",
        start="queueops.kinds.jobs.start:prepare",
        facts="queueops.kinds.jobs.worker_facts:facts",
        closed="queueops.kinds.jobs.disk_guard:closed_lanes",
        command="queueops.kinds.jobs.command:Command",
    ),
    Kind(
        name="workflows",
        package="queueops.kinds.workflows",
        records=("workflow", "activity"),
        subkeys={
            "#history": "list",
            "#inbox": "list",
            "#calls": "hash",
            "#payloads": "hash",
            "#later": "zset",
            "#told": "zset",
        },
        keys={"instances": "hash"},
        fields="queueops.kinds.workflows.fields:FIELDS",
        store="queueops.kinds.workflows.store:WorkflowCalls",
        results="queueops.kinds.workflows.results:value_of",
        control="queueops.kinds.workflows.control",
        inspect="queueops.kinds.workflows.inspect",
        why="queueops.kinds.workflows.why",
        cli="queueops.kinds.workflows.cli:COMMANDS",
        alarms="queueops.kinds.workflows.alarms:alarms",
        notes="queueops.kinds.workflows.alarms:notes",
        console="console.kinds.workflows.registration:PAGES",
        handlers="queueops.kinds.workflows.activities",
        examines="queueops.kinds.workflows.far_check:EXAMINED",
        settings="queueops.kinds.workflows.settings:read_settings",
        command="queueops.kinds.workflows.check_command:Command",
        refuses="queueops.kinds.workflows.refused_verbs:refused",
        finder="queueops.kinds.workflows.finder:FINDER",
    ),
    Kind(
        name="operations",
        package="queueops.kinds.operations",
        records=("bulk_action",),
        names=("bulk_action",),
        fields="queueops.kinds.operations.fields:FIELDS",
        store="queueops.kinds.operations.store:OperationCalls",
        handlers="queueops.kinds.operations.handlers",
        control="queueops.kinds.operations.control",
        inspect="queueops.kinds.operations.inspect",
    ),
    Kind(
        name="follow_ups",
        package="queueops.follow_ups",
        fields="queueops.follow_ups.fields:FIELDS",
        keys={"follow_ups:dead": "zset"},
        inspect="queueops.follow_ups.inspect",
        cli="queueops.follow_ups.cli:COMMANDS",
        eager="queueops.follow_ups.eager:EagerFollowUps",
        alarms="queueops.follow_ups.alarms:alarms",
    ),
    Kind(name="django_task", records=("django_task",), fields="queueops.contrib.fields:FIELDS"),
    Kind(
        name="schedules",
        package="queueops.schedules",
        keys={
            "schedules": "zset",
            "schedules:queued": "set",
            "schedule:<id>": "hash",
            "schedule:<id>#log": "list",
            "schedule:<id>#queue": "list",
        },
        store="queueops.schedules.store:ScheduleCalls",
        control="queueops.schedules.control",
        inspect="queueops.schedules.inspect",
        cli="queueops.schedules.cli:COMMANDS",
        alarms="queueops.schedules.alarms:alarms",
        start_checks="queueops.schedules.checks:check_schedules",
        duty="queueops.schedules.firing:duty",
    ),
)


CONTAINERS = tuple(record for kind in KINDS for record in kind.containers)
COUNTING = tuple(record for kind in KINDS for record in kind.counting)
PARTS = tuple(word for kind in KINDS for word in kind.parts)
LOGGERS = tuple(logger for kind in KINDS for logger in kind.loggers)


@functools.cache
def registered() -> tuple[Kind, ...]:
    """The rows above, then the kinds of other packages, by name. Raises BadKind; then none is registered.

    Another package brings a kind by an entry point of the group `queueops.kinds`, whose object is a `Kind`.
    """
    found = (*KINDS, *_of_other_packages())
    _check(found)
    return found


def fields() -> Mapping[str, Field]:
    """The fields of a record, by the name in the store: those of the kernel, then those of the kinds."""
    return fields_of(registered())


@functools.cache
def fields_of(found: tuple[Kind, ...]) -> dict[str, Field]:
    """The fields of a record with these kinds. Raises BadKind for one that two of them have, or the kernel."""
    known = dict(KERNEL_FIELDS)
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


@functools.cache
def _of_rows(role: Role) -> tuple[Any, ...]:
    return tuple(_imported(kind, role) for kind in KINDS if getattr(kind, role))


@functools.cache
def roles(role: Role) -> tuple[Any, ...]:
    """What the kinds bring for a role, in the order of their rows. Each is imported here. Raises BadKind."""
    return tuple(_imported(kind, role) for kind in registered() if getattr(kind, role))


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


@functools.cache
def settings_reader(name: str) -> Any:
    """The reader of the settings of the kind with this name."""
    return next(_imported(kind, "settings") for kind in KINDS if kind.name == name)


def command_of(name: str) -> Any:
    """The command of the kind with this name."""
    return next(_imported(kind, "command") for kind in KINDS if kind.name == name)


@functools.cache
def of_record(record: str, role: Role) -> Any:
    """What the kind of a record brings for a role; None if it brings nothing, and for a record of no kind."""
    for kind in registered():
        if record in kind.records and getattr(kind, role):
            return _imported(kind, role)
    return None


def public_name(role: Role, name: str) -> Any:
    """What a module of a kind has by this name in its ``__all__``. Raises AttributeError.

    The names of the rows above are found whatever is wrong with a kind of another package.
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


def forget() -> None:
    """Read the registered kinds anew, after rows or installed packages have changed, as in a test."""
    for each in (registered, fields_of, _of_rows, roles, settings_reader, of_record):
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
    path = getattr(kind, role)
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name) if name else import_module(module)
    except (ImportError, AttributeError) as error:
        raise BadKind(name=kind.name, reason=f"its {role} {path} cannot be imported: {error}") from error
