"""Row of a kind: what it brings beside its name, by role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Role = Literal[
    "fields",
    "store",
    "handlers",
    "results",
    "status",
    "states",
    "part_states",
    "part",
    "control",
    "inspect",
    "details",
    "why",
    "cli",
    "alarms",
    "notes",
    "figures",
    "console",
    "settings",
    "checks",
    "eager",
    "start",
    "examines",
    "facts",
    "closed",
    "refuses",
    "finder",
    "signals",
    "endings",
]


class Finder(NamedTuple):
    """How the find box finds records by another id than their own.

    ``key`` is that of a hash among the kind's ``keys``: the id of a record by that other id. It knows whole ids only.
    """

    title: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """One kind: its name, the package with its Lua (if it has any), its records, the keys beside them, and its roles.

    ``records`` are values of field ``k``. ``subkeys`` are keys beside such a record, each with its Redis type: deleted
    with it, and moved with it to the trash and back. The name of a sub-key follows the record's key. ``own_subkeys``
    are further ones, which stay where they are, and which the kind deletes itself; ``<number>`` stands for any number.

    ``keys`` are its other keys of a pool, behind the pool's prefix, and their types in Redis. Only built-in rows have
    some: the consistency check knows them.

    ``names`` are names of tasks that each worker knows, though the project does not define them.

    ``commands`` are classes of commands of `manage.py`, by name. Only built-in rows have some. Django looks for
    each in a module of its name in `queueops.management.commands`.

    ``leased_as`` has the leased state of a record, or of a record and its phase, where that is not ``locked``.

    Only built-in rows have these: ``containers`` are records that no worker claims, ``counting`` are records whose
    total is determined while they run, ``parts`` are values of field ``k`` in leases of parts of a record, ``own_work``
    are records that QueueOps pushes itself: an alarm tells those that fail.

    A role is a module or a name in it ("module:name"), and is imported when it is first used; empty if there is none:

    - ``fields``: the record fields that the kind owns, a mapping of the name in the store to its `Field`.
    - ``store``: a class of calls, a subclass of StoreClient. The broker gets them.
    - ``handlers``: a module that registers what runs its tasks; imported when a worker meets the first of them.
    - ``results``: a function of broker and record that gives the result of an ended task of this kind.
    - ``status``: a function of broker and record that gives values of `TaskStatus` by attribute. Only built-in rows
      have one.
    - ``states``: the `KindStates`: what it adds to the table of the states of tasks.
    - ``part_states``: the `PartStates` of the parts of a record that workers claim beside tasks.
    - ``part``: a class that makes the call of a task a part of a composite, for ``task.s()``. One kind brings it.
    - ``control``, ``inspect``, ``signals``: modules whose ``__all__`` are names of `queueops.control`,
      `queueops.inspect` and `queueops.signals`.
    - ``endings``: a module with `send(ended)`, which tells receivers of ended records, and `wanted()`: whether there
      are any. A process calls it for the records that its call of the store ended.
    - ``details``: the `KindDetails` of the kind: what it adds to the details of a task.
    - ``why``: a module with the checks of "why is it not running", as `queueops.inspect.why` calls them.
    - ``cli``: the `KindCommands` of the kind: what it adds to `manage.py queue`.
    - ``alarms``: a function of a pool's name and its sampled figures that gives alarms for the status head.
    - ``notes``: a function of the sampled figures of a pool that gives sentences to show beside it.
    - ``figures``: a module with `of_pool(sampled)` and `of_snapshot(samples)`, values of `PoolView` and `Snapshot` by
      attribute; `moves(sampled)`, the changes of state of its parts; `waiting(sampled)`, their `PartLine`s in the
      model of estimates; and `COLUMNS`, the titles and attributes of a terminal's table. Only built-in rows have one.
    - ``console``: the `KindPages` of the console.
    - ``settings``: a reader of the part of the setting QUEUEOPS under the kind's name in capitals. Only built-in rows
      have one: the settings are read before the entry points are.
    - ``checks``: a function that gives messages of Django's system checks.
    - ``eager``: a subclass of `EagerBroker` with its calls and steps in eager mode.
    - ``start``: a function that `manage.py runworker` calls with its options. An error that it raises ends the command.
    - ``examines``: functions by word. The consistency check calls one for an entry `~<word>:<rest>` that the kind's Lua
      leaves for later, with the broker, the pool and the rest. It gives pools and entries: what each is to examine.
    - ``facts``: a function of the patterns of a worker's lanes that gives texts by name for its heartbeat.
    - ``closed``: a function of a pool that gives patterns of lanes from which this worker claims nothing now, such as
      while a disk is full. It is called before each claim, so it answers from memory most times.
    - ``refuses``: a function of a value of ``k`` and the fields of a record, as far as they are known. It gives the
      verbs of an operator that the kind's Lua refuses for such a record, whatever their value is. None is offered.
    - ``finder``: the `Finder` of its records by another id than their own.
    """

    name: str
    package: str = ""
    records: tuple[str, ...] = ()
    subkeys: Mapping[str, str] = field(default_factory=dict)
    own_subkeys: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    leased_as: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    counting: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    own_work: tuple[str, ...] = ()
    fields: str = ""
    store: str = ""
    handlers: str = ""
    results: str = ""
    status: str = ""
    states: str = ""
    part_states: str = ""
    part: str = ""
    control: str = ""
    inspect: str = ""
    details: str = ""
    why: str = ""
    cli: str = ""
    alarms: str = ""
    notes: str = ""
    figures: str = ""
    console: str = ""
    settings: str = ""
    checks: str = ""
    eager: str = ""
    start: str = ""
    examines: str = ""
    facts: str = ""
    closed: str = ""
    refuses: str = ""
    finder: str = ""
    signals: str = ""
    endings: str = ""
