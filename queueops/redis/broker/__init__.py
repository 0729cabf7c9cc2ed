"""Redis broker and storage: implement the contracts by calls of scripts, grouped by role.

The roles of the kernel stand here. Each registered kind adds its own, by its method `store`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar, cast

from queueops import conf
from queueops.conf.dotted_path import imported
from queueops.errors import BadSetting
from queueops.errors.kinds import BadKind, NotOffered
from queueops.model import kinds
from queueops.model.capabilities import Capability
from queueops.redis.broker.alerts import AlertCalls
from queueops.redis.broker.control import ControlCalls
from queueops.redis.broker.exchange import ExchangeCalls
from queueops.redis.broker.flush import FlushCalls
from queueops.redis.broker.fsck import FsckCalls
from queueops.redis.broker.history import HistoryCalls
from queueops.redis.broker.maintenance import MaintenanceCalls
from queueops.redis.broker.pool_messages import OutboxCalls
from queueops.redis.broker.push import PushCalls
from queueops.redis.broker.reencryption import ReencryptCalls
from queueops.redis.broker.schedules import ScheduleCalls
from queueops.redis.broker.storage import StorageCalls
from queueops.redis.store_client import StoreClient


class RedisBroker(
    PushCalls,
    StorageCalls,
    ExchangeCalls,
    MaintenanceCalls,
    HistoryCalls,
    ControlCalls,
    FsckCalls,
    FlushCalls,
    OutboxCalls,
    ScheduleCalls,
    AlertCalls,
    ReencryptCalls,
):
    """All roles on one store client: those of the kernel, and those of the registered kinds."""

    capabilities: frozenset[str]
    """All that a store may offer beside plain tasks."""

    def __new__(cls, settings: conf.Settings) -> Self:
        """Make one with the roles of the registered kinds."""
        return super().__new__(cast("type[Self]", broker_class()) if cls is RedisBroker else cls)


Role = TypeVar("Role")
CAPABILITIES: dict[type, Capability] = {
    AlertCalls: Capability.ALERTS,
    ControlCalls: Capability.LANES,
    FlushCalls: Capability.REPAIR,
    FsckCalls: Capability.REPAIR,
    HistoryCalls: Capability.HISTORY,
    MaintenanceCalls: Capability.UPKEEP,
    OutboxCalls: Capability.MESSAGES,
    ReencryptCalls: Capability.UPKEEP,
    ScheduleCalls: Capability.SCHEDULES,
}
"""What a store leaves out that does not have the calls of a role; of other calls it is QUESTIONS."""


@functools.cache
def broker_class() -> type[RedisBroker]:
    """The class of all brokers, with the roles of the registered kinds. Raises BadKind."""
    roles = kinds.roles("store")
    _check(roles)
    offered = frozenset((*Capability, *_by_role().values()))
    return type("RedisBroker", (RedisBroker, *roles), {"__doc__": RedisBroker.__doc__, "capabilities": offered})


def _check(roles: Iterable[Any]) -> None:
    """Raise BadKind if a role replaces a call of the kernel or of another kind."""
    owners = {name: "the kernel" for base in RedisBroker.__mro__ for name in vars(base)}
    for role in roles:
        if not isinstance(role, type) or not issubclass(role, StoreClient):
            raise BadKind(name=str(role), reason="its store must be a subclass of StoreClient")
        for name in {name for base in role.__mro__ if base not in RedisBroker.__mro__ for name in vars(base)}:
            if name in owners and not name.startswith("__"):
                raise BadKind(name=role.__name__, reason=f"its call {name} is a call of {owners[name]} already")
            owners[name] = role.__name__


@kinds.cached
def _by_role() -> dict[type, str]:
    """The capability of each role, also of those of the kinds."""
    return CAPABILITIES | {role: kind.name for kind, role in kinds.brought(kinds.registered(), "store")}


def capability_of(call: str) -> str:
    """What a store leaves out that does not have this call. Empty if no store has it."""
    names = ((base, vars(base)) for base in broker_class().__mro__)
    owner = next((base for base, own in names if call in own or call in own.get("__annotations__", {})), None)
    return _by_role().get(owner, Capability.QUESTIONS) if owner else ""


NO_KEYS = "empty with QUEUEOPS['STORE']: that store would get all values in clear"
_brokers: dict[tuple[str, str, str], RedisBroker] = {}
_in_place: Any = None
"""The broker that replaces the store."""


@contextmanager
def in_place_of_store(broker: Any) -> Iterator[None]:
    """Replace the store by this broker in the block, in all threads of the process."""
    global _in_place
    before, _in_place = _in_place, broker
    try:
        yield
    finally:
        _in_place = before


def get_broker() -> RedisBroker:
    """The broker of this process for the current settings, or the one in its place. Raises BadSetting."""
    if _in_place is not None:
        return cast("RedisBroker", _in_place)
    settings = conf.current()
    broker = _brokers.get(settings.place)
    if broker is None or broker.settings is not settings:
        if settings.store and settings.encryption:
            raise BadSetting(place="QUEUEOPS['ENCRYPTION']", value="a list of keys", expected=NO_KEYS)
        made = store_class(settings.store) if settings.store else RedisBroker
        broker = _brokers[settings.place] = made(settings)
    return broker


def store_class(path: str) -> Any:
    """The class, or another callable, that makes a store of the settings. Raises BadSetting."""
    return imported("QUEUEOPS['STORE']", path, "the settings")


def runs_here() -> bool:
    """Whether a test has replaced the store, and tasks run where they are pushed, or not at all."""
    return getattr(_in_place, "runs_here", False)


def get_role(role: type[Role]) -> Role:
    """The broker of this process, in the role that a kind adds to it. Raises NotOffered."""
    return in_role(get_broker(), role)


def in_role(broker: RedisBroker, role: type[Role]) -> Role:
    """A broker in the role that a kind adds to it. Raises NotOffered, and LookupError if no registered kind adds it."""
    if not isinstance(broker, role):
        if (capability := _by_role().get(role)) is None:
            raise LookupError(f"no registered kind brings {role.__name__} to the broker")
        raise NotOffered(store=type(broker).__name__, capability=capability)
    return broker


def close_brokers() -> None:
    """Close the connections, as at the end of a test; the next call connects again."""
    while _brokers:
        _brokers.popitem()[1].close()


def forget_brokers() -> None:
    """Drop all connections, as a child process must do after a fork."""
    _brokers.clear()


os.register_at_fork(after_in_child=forget_brokers)
