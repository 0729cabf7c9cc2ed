"""Base of a store for plain tasks: what follows from its few own calls, and one error for all that it leaves out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn, Self

from queueops.conf import Settings
from queueops.errors.kinds import NotOffered
from queueops.errors.refusals import DurabilityUnsupported
from queueops.model import kinds, observers
from queueops.model.capabilities import Capability
from queueops.model.contracts import (
    Command,
    Conflict,
    Exchange,
    LeaseRef,
    Posted,
    Push,
    Pushed,
    RoundTrip,
    Row,
    Settlement,
    Told,
)
from queueops.model.fields import FOLLOW_UP_FIELDS
from queueops.model.records import Record
from queueops.redis.broker import capability_of

_BY_FIELD = {
    "xe": Capability.EXPIRY,
    "uf": Capability.CONFLICTS,
    **dict.fromkeys(("lk", "lm", "lr"), Capability.LIMITS),
    **dict.fromkeys(FOLLOW_UP_FIELDS, Capability.FOLLOW_UPS),
}
"""What a store needs for a field of a push."""
_BY_POLICY = dict.fromkeys((Conflict.RUN_AFTER, Conflict.DEBOUNCE), Capability.CONFLICTS)


class PlainStore:
    """A store of plain tasks. `queueops.model.ports` says what each call promises.

    A subclass writes the calls that raise NotImplementedError here, and may write any other call of the ports. It names
    in ``capabilities`` what it offers beside plain tasks. One object serves all threads of a process; after a fork, the
    child makes its own. A call that cannot reach the data raises BrokerUnavailable: it is then made again.
    """

    capabilities: frozenset[str] = frozenset()
    spread = False

    def __init__(self, settings: Settings) -> None:
        """Bind the settings. ``settings.url`` is the text of `QUEUEOPS["URL"]`, which only the store understands."""
        self.settings = settings

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse a call that the store leaves out. Raises NotOffered, and AttributeError for any other name."""
        capability = "" if name.startswith("_") else capability_of(name)
        if not capability:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        raise self._not_offered(capability)

    # What a store writes

    def create(self, pushes: Sequence[Push], under: LeaseRef | None) -> list[Pushed]:
        """Create these tasks, all or none, in this order. Raises LeaseLost unless ``under`` is current."""
        raise NotImplementedError

    def exchange(self, pool: str, worker: str, trip: RoundTrip) -> Exchange:
        """Settle, renew, do what is due, and claim. Workers come again after the ``sleep_ms`` of the reply."""
        raise NotImplementedError

    def recover(
        self, pool: str, worker: str, running: Mapping[str, Settlement], keep: Collection[tuple[str, int]] = ()
    ) -> int:
        """Take back the leases of a worker: those in ``running`` as judged, the others without a charge."""
        raise NotImplementedError

    def held(self, pool: str, worker: str) -> list[tuple[str, int, bool]]:
        """The leases of a worker: id, fence, and False."""
        raise NotImplementedError

    def note(
        self,
        pool: str,
        task_id: str,
        fence: int,
        *,
        done: float | None = None,
        total: float | None = None,
        line: bytes = b"",
        number: int = 0,
    ) -> str:
        """Record progress or a log line under the fence; returns OK, STALE or GONE."""
        raise NotImplementedError

    def control(
        self,
        pool: str,
        verb: str,
        ids: Sequence[str],
        *,
        value: str | int = "",
        hard: bool = False,
        reason: str = "",
        who: str = "",
        token: str = "",
        seen: str = "",
    ) -> list[Row]:
        """Apply an action to tasks; a row for each, in order."""
        raise NotImplementedError

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None."""
        raise NotImplementedError

    def log(self, pool: str, task_id: str) -> list[bytes]:
        """The lines of a task's log, at most the last 100, oldest first: JSON documents."""
        raise NotImplementedError

    def pools(self) -> list[str]:
        """Every pool that was ever used, sorted by name."""
        raise NotImplementedError

    # What follows from it

    def push(self, pushes: Sequence[Push], *, durable: bool = False, under: LeaseRef | None = None) -> list[Pushed]:
        """Create tasks. Raises NotOffered, and creates none, if one of them is more than a plain task."""
        for push in pushes:
            for capability in _needed(push):
                if capability not in self.capabilities:
                    raise self._not_offered(capability)
            if durable and Capability.DURABLE not in self.capabilities:
                raise DurabilityUnsupported(pool=push.pool, reason="the store does not offer it")
        with observers.publishing(pushes, linked=len(pushes) > 1):
            return self.create(pushes, under)

    def pushes(self, pool: str, *, durable: bool = False, under: LeaseRef | None = None) -> OneByOne:
        """The same batch by batch."""
        return OneByOne(lambda batch: self.push(batch, durable=durable, under=under))

    def exchanges(self, pool: str, worker: str) -> OneByOne:
        """The round trips of a worker."""
        return OneByOne(lambda trip: self.exchange(pool, worker, trip))

    def post(self, pool: str, *, told: Sequence[Told] = (), apply: Sequence[Command] = (), take: int = -1) -> Posted:
        """Nothing is sent between pools."""
        return Posted([], [], False)

    def retry_policy(self, pool: str, task_id: str) -> tuple[str, int]:
        """The retry policy of a task, and how many of its attempts have failed."""
        record = self.record(pool, task_id)
        return ("", 0) if record is None else (record.retry, record.attempt)

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and its record."""
        found = ((pool, self.record(pool, task_id)) for pool in self.pools())
        return next(((pool, record) for pool, record in found if record is not None), None)

    def last(self, pool: str, task_id: str) -> Record | None:
        """The previous generation is not kept."""
        return None

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> str:
        """The current state, an empty string if there is no such task, or `superseded`."""
        record = self.record(pool, task_id)
        return "" if record is None else record.state if uid in (0, record.push_uid) else "superseded"

    def done_channel(self, pool: str, task_id: str) -> str:
        """The channel on which the end of a task is published, if the store offers ENDS."""
        return f"{pool}/{task_id}"

    def end_listener(self, pool: str) -> NoReturn:
        """Tell of no end: callers poll."""
        raise self._not_offered(Capability.ENDS)

    def waker(self, pool: str, worker: str) -> NoReturn:
        """Wake no worker: it polls."""
        raise self._not_offered(Capability.WAKING)

    def hasty(self) -> Self:
        """The same store, for callers that must not wait long."""
        return self

    def server(self, pool: str) -> str:
        """There is only one server."""
        return ""

    def declare_lanes(self, pool: str) -> None:
        """Lanes have no settings."""

    def announce(self, pool: str, *, again: bool = False) -> None:
        """A pool is registered by its first task."""

    def beat(self, pool: str, worker: str, fields: Mapping[str, str | int | bytes]) -> None:
        """There is no list of workers."""

    def leave(self, pool: str, worker: str) -> None:
        """There is no list of workers."""

    def wants_stack(self, pool: str, worker: str) -> bool:
        """No stacks can be asked for."""
        return False

    def keep_stack(self, pool: str, worker: str, stacks: str) -> bool:
        """No stacks can be asked for."""
        return False

    def close(self) -> None:
        """Close the connections of this process."""

    def _not_offered(self, capability: str) -> NotOffered:
        return NotOffered(store=type(self).__name__, capability=capability)


class OneByOne:
    """A pipeline of a store that answers each call before the next."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self._call = call
        self._answers: deque[Any] = deque()

    def send(self, of: Any) -> None:
        """Make one call."""
        self._answers.append(self._call(of))

    def receive(self) -> Any:
        """The answer to the oldest call."""
        return self._answers.popleft()

    def close(self) -> None:
        """Nothing is open."""


def _needed(push: Push) -> list[str]:
    """The capabilities that a push needs."""
    needed = [kind.name for kind in kinds.registered() if push.kind in kind.records]
    if push.conflict in _BY_POLICY:
        needed.append(_BY_POLICY[push.conflict])
    for short, _ in push.own:
        if short in _BY_FIELD:
            needed.append(_BY_FIELD[short])
        else:
            needed += (kind.name for kind in kinds.registered() if short in (kind.fields() or ()))
    return needed
