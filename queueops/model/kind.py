"""Kind: what a record can be beside a plain task. A kind is a subclass in the `__init__` of its package.

Methods import what they give when it is first used. By default they give nothing. docs/kinds.md describes each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Parts:
    """Parts of a record that workers claim beside tasks, as the chunks of map-reduce."""

    words: tuple[str, ...] = ()  # values of field `k` in their leases
    counting: tuple[str, ...] = ()  # records whose total is determined while they run

    def states(self) -> Any: ...  # the `PartStates`
    def figures(self) -> Any: ...  # a module: of_pool, of_snapshot, moves, waiting and COLUMNS
    def status(self) -> Any: ...  # a function of broker and record: values of `TaskStatus` by attribute


class Tree:
    """Records that consist of other tasks, as chains and groups. Only one kind has it."""

    containers: tuple[str, ...] = ()  # records that no worker claims
    counting: tuple[str, ...] = ()  # records whose total is determined while they run

    def part(self) -> Any: ...  # the class of `task.s()`
    def add(self) -> Any: ...  # a function of a context and parts, behind `current().add()`
    def signals(self) -> Any: ...  # a module whose `__all__` are names of `queueops.signals`
    def endings(self) -> Any: ...  # a module with `send(ended)` and `wanted()`


class Work:
    """What a worker does for a kind."""

    names: tuple[str, ...] = ()  # of tasks that each worker knows, though the project does not define them
    own: tuple[str, ...] = ()  # records that QueueOps pushes itself: an alarm shows those that fail

    def handlers(self) -> Any: ...  # a module that registers what runs the tasks
    def start(self) -> Any: ...  # a function of the worker's options, called before the worker starts
    def facts(self) -> Any: ...  # a function of its patterns of lanes: texts by name for the heartbeat
    def closed(self) -> Any: ...  # a function of a pool: patterns of lanes from which it claims nothing now


class Kind:
    """Declares keys and records of a kind, and brings its parts of the engine."""

    name: str = ""
    records: tuple[str, ...] = ()  # values of field `k`
    subkeys: Mapping[str, str] = {}  # keys beside a record, and their Redis types: deleted and carried with it
    own_subkeys: Mapping[str, str] = {}  # further ones, which the kind deletes itself
    keys: Mapping[str, str] = {}  # other keys of a pool
    console: str = ""  # the `KindPages`, as "module:NAME": the engine does not import the console
    work: Work = Work()
    parts: Parts | None = None
    tree: Tree | None = None

    def fields(self) -> Any: ...  # record fields: each name in the store with its `Field`
    def states(self) -> Any: ...  # the `KindStates`
    def store(self) -> Any: ...  # a subclass of StoreClient: calls of the broker
    def outbox(self) -> Any: ...  # `Form`s of its pushes in the outbox of a database, by word
    def results(self) -> Any: ...  # a function of broker and record: the result of an ended task
    def control(self) -> Any: ...  # a module whose `__all__` are names of `queueops.control`
    def inspect(self) -> Any: ...  # a module whose `__all__` are names of `queueops.inspect`
    def details(self) -> Any: ...  # the `KindDetails`: what operators see of it
    def why(self) -> Any: ...  # a module with the checks of "why is it not running"
    def cli(self) -> Any: ...  # `KindCommand`s of `manage.py queue`
    def settings(self) -> Any: ...  # a reader of QUEUEOPS[<name in capitals>]
    def checks(self) -> Any: ...  # a function: messages of Django's system checks
    def examines(self) -> Any: ...  # functions of the consistency check, by word
