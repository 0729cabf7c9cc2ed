"""Ports: what the engine's components call of the store is declared, and both brokers have it as declared."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from queueops.kinds.composites.composite_store import CompositeStore
from queueops.kinds.jobs.job_store import JobStore
from queueops.kinds.mapreduce.chunk_store import ChunkStore
from queueops.kinds.workflows.store.run_store import RunStore
from queueops.model import ports
from queueops.redis.broker import broker_class
from queueops.schedules.schedule_store import ScheduleStore
from queueops.testing.eager import EagerBroker
from queueops.testing.recorder import Recorder
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.support.for_each import for_each

ROOT = Path(__file__).resolve().parents[2]
CALLERS = ("contrib", "kinds", "pool_messages", "results", "tasks", "watchdog", "worker")
ROLES = (
    ports.Broker,
    ChunkStore,
    CompositeStore,
    JobStore,
    ports.Producer,
    RunStore,
    ScheduleStore,
    ports.Storage,
    ports.Upkeep,
)


def calls_of(role: type) -> dict[str, Any]:
    """The calls that a port declares, with those of the ports that it extends."""
    found: dict[str, Any] = {}
    for each in reversed(role.__mro__):
        if each not in (object, Protocol):
            found |= {name: value for name, value in vars(each).items() if not name.startswith("_")}
    return found


DECLARED = {name: value for role in ROLES for name, value in calls_of(role).items()}


def test_the_name_of_the_redis_broker_is_known_to_the_redis_package_alone():
    files = [path for package in ("queueops", "console", "queueops_demo") for path in (ROOT / package).rglob("*.py")]
    known = [path for path in files if "RedisBroker" in path.read_text()]
    assert {path.relative_to(ROOT).parts[:2] for path in known} == {("queueops", "redis")}


def test_every_call_of_the_store_is_declared_in_a_port():
    called = {name: place for folder in CALLERS for name, place in _calls(ROOT / "queueops" / folder)}
    assert {name: place for name, place in called.items() if name not in DECLARED} == {}
    assert len(called) > 40  # else the names of the variables have changed, and nothing is looked at


@for_each("name", sorted(DECLARED))
def test_the_redis_broker_has_each_call_as_it_is_declared(name):
    assert _parameters(getattr(broker_class(), name)) == _parameters(DECLARED[name])


@for_each("name", sorted(DECLARED))
def test_the_brokers_of_tests_take_each_call_as_it_is_declared(name):
    for broker in (EagerBroker, Recorder):
        if name in dir(broker):
            assert _parameters(getattr(broker, name)) == _parameters(DECLARED[name])


@for_each("name", sorted(calls_of(ports.Duty)))
def test_the_firing_of_schedules_has_each_call_as_it_is_declared(name):
    assert _parameters(getattr(ScheduleFiring, name, None)) == _parameters(calls_of(ports.Duty)[name])


def _calls(folder: Path) -> Iterator[tuple[str, str]]:
    """Each attribute of a broker that a module reads, and where."""
    for path in sorted(folder.rglob("*.py")):
        if "store" in path.with_suffix("").relative_to(folder).parts:
            continue  # the store of a kind is on the other side of its port
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and _is_broker(node.value):
                yield node.attr, f"{path.relative_to(ROOT)}:{node.lineno}"


def _is_broker(node: ast.expr) -> bool:
    """Whether an expression is `broker`, `self.broker`, `self._broker`, `store`, or the factory's call."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).endswith("get_broker")
    return ast.unparse(node) in ("broker", "store", "self.broker", "self._broker", "self._hub.broker")


def _parameters(call: Any) -> list[tuple[str, Any, Any]] | None:
    """Names, kinds and defaults of the parameters; None for a property, and for a value in its place."""
    if not callable(call):
        return None
    found = inspect.signature(call).parameters.values()
    return [(each.name, each.kind, each.default) for each in found if each.name != "self"]
