"""Ports: the interfaces between the engine's components. Only data passes between them.

A task is data at every stage, never an executable object. The broker executes nothing, the worker stores nothing, the
storage knows no execution logic. `queueops.redis` implements all ports of the store; the brokers of
`queueops.testing` implement those of producers. A kind declares its own port, as map-reduce does for its chunks.
`queueops.stores.PlainStore` helps to write another store, which `QUEUEOPS["STORE"]` names.

Each call of a store keeps three promises; `queueops.testing.conformance` tests them:

- Atomic: a call has its whole effect or none, also if several processes call at once. A repeated call, after a lost
  reply, has its effect once.
- Fenced: a claim raises the fence of the task. A call with an older fence changes nothing, and says STALE or GONE, or
  raises LeaseLost.
- Ordered: tasks of one lane are claimed by priority, the highest first, then in the order of their pushes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from queueops.errors.kinds import NotOffered
from queueops.model import kinds
from queueops.model.contracts import (
    Command,
    Exchange,
    Lease,
    LeaseRef,
    Posted,
    Push,
    Pushed,
    RoundTrip,
    Row,
    Settlement,
    TickReport,
    Told,
)
from queueops.model.history import Level, Rows

if TYPE_CHECKING:
    from queueops.model.fsck import FsckPage
    from queueops.model.losses import Replication
    from queueops.model.marks import Condition, Mark
    from queueops.model.records import Record


class Pushes(Protocol):
    """Batches of tasks for one pool, of which several may be pending."""

    def send(self, pushes: Sequence[Push]) -> None:
        """Send one batch."""

    def receive(self) -> list[Pushed]:
        """The results of the oldest pending batch; raises BrokerUnavailable, StoreFull or NotDurable."""

    def close(self) -> None:
        """Close the connection; pending batches may still arrive."""


class Producer(Protocol):
    """Component that creates tasks."""

    def push(self, pushes: Sequence[Push], *, durable: bool = False, under: LeaseRef | None = None) -> list[Pushed]:
        """Create tasks, all of one call in the given order; raises BrokerUnavailable, StoreFull or NotDurable.

        DurabilityUnsupported is raised before anything is written.

        ``under`` is the lease of the pushing task. Raises LeaseLost, and creates nothing, if it has ended.
        """

    def pushes(self, pool: str, *, durable: bool = False, under: LeaseRef | None = None) -> Pushes:
        """The same for many batches to one pool, of which the next may be sent before the last is answered."""

    def hasty(self) -> Self:
        """The same store with short timeouts, for callers that must not wait long."""


class Exchanges(Protocol):
    """A worker's round trips with one pool, of which several may be pending. After an error it is closed."""

    def send(self, trip: RoundTrip) -> None:
        """Send one exchange; raises BrokerUnavailable or StoreFull."""

    def receive(self) -> Exchange:
        """The reply of the oldest pending exchange; raises BrokerUnavailable or StoreFull."""

    def close(self) -> None:
        """Close the connection."""


class Broker(Producer, Protocol):
    """Component that hands tasks to workers and takes their outcomes. It executes nothing.

    It is ``spread`` if pools may be on several servers, of which one may not answer while others do.
    """

    @property
    def spread(self) -> bool:
        """Whether pools may be on several servers."""

    def exchange(self, pool: str, worker: str, trip: RoundTrip) -> Exchange:
        """Settle, renew, promote what is due and claim tasks in one round trip."""

    def post(self, pool: str, *, told: Sequence[Told] = (), apply: Sequence[Command] = (), take: int = -1) -> Posted:
        """Report the outcome of this pool's commands, apply commands for its tasks, take others as `exchange` does."""

    def declare_lanes(self, pool: str) -> None:
        """Before the first claim: apply the settings' limits to lanes, unless an operator has set some."""

    def exchanges(self, pool: str, worker: str) -> Exchanges:
        """The same, for a worker that sends the next exchange while one is pending."""

    def waker(self, pool: str, worker: str) -> Waker:
        """Connect for the wake-up tokens of a worker."""

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
        """Record progress or a log line under the fence; returns OK, STALE or GONE.

        A repeated line of a lease, with the same ``number``, is not written twice.
        """

    def advance(self, pool: str, task_id: str, fence: int, done: float, total: float | None = None) -> str:
        """Record the progress of a part of a composite, which counts it; returns OK, STALE or GONE."""

    def recover(
        self, pool: str, worker: str, running: Mapping[str, Settlement], keep: Collection[tuple[str, int]] = ()
    ) -> int:
        """Take back the leases of a worker: those in ``running`` as judged, the others without a charge.

        ``keep`` are (id, fence) that a live worker holds. It lost a reply, and with it leases that it does not know of.
        """

    def held(self, pool: str, worker: str) -> list[tuple[str, int, bool]]:
        """The leases of a worker: id, fence, and whether it was handed over and not renewed since."""

    def beat(self, pool: str, worker: str, fields: Mapping[str, str | int | bytes]) -> None:
        """Record a heartbeat, with the state of the worker and its running tasks.

        Raises LibraryRefused after it recorded a heartbeat that says so.
        """

    def leave(self, pool: str, worker: str) -> None:
        """Remove the worker from the registry at its orderly end."""

    def wants_stack(self, pool: str, worker: str) -> bool:
        """Whether the stacks of a worker are asked for, and not stored yet."""

    def keep_stack(self, pool: str, worker: str, stacks: str) -> bool:
        """Store the stacks of a worker's threads; False if they are not asked for (any more)."""


class Duty(Protocol):
    """What a watchdog does in its pools beside the agenda, in each round and between two: the firing of schedules."""

    @property
    def doing(self) -> str:
        """What `act` does, as the log says it before the name of a pool."""

    @property
    def beginning(self) -> str:
        """The same of `begin`."""

    def pools(self) -> list[str]:
        """Pools to watch that so far only the code of the project names."""

    def begin(self, pool: str) -> None:
        """Before the first round: compare a pool with the code of the project. It is repeated while it fails."""

    def act(self, pool: str) -> dict[str, int]:
        """Do what is due in a pool; return how often what was done. Raises BrokerUnavailable."""

    def ahead_s(self) -> float:
        """Seconds until something is due in any pool; infinite if that is not known."""

    def due_pools(self) -> list[str]:
        """The pools in which something is due."""

    def within(self, pools: Callable[[], list[str]]) -> Duty:
        """The same duty for the watchdog of one server of a cluster, which has these pools."""


class EndListener(Protocol):
    """Tells of the ends of tasks, on a dedicated connection. After an error it is closed."""

    def fileno(self) -> int:
        """The descriptor to select on."""

    def subscribe(self, channels: Sequence[str]) -> None:
        """Subscribe to channels of `done_channel`; `read` confirms each with the word `subscribe`."""

    def unsubscribe(self, channels: Sequence[str]) -> None:
        """Unsubscribe from channels."""

    def read(self) -> Sequence[tuple[str, str, bytes]]:
        """What has arrived: `subscribe` or `message`, the channel, data. It does not wait. Called once a second, too.

        Raises BrokerUnavailable if the connection is lost, or the store has not answered for long.
        """

    def close(self) -> None:
        """Close the connection."""


class Storage(Protocol):
    """Component that stores tasks. It contains no execution logic."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What the store offers beside plain tasks: values of `queueops.model.capabilities`, and names of kinds."""

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None if there is none."""

    def retry_policy(self, pool: str, task_id: str) -> tuple[str, int]:
        """The retry policy of a task or a chunk, and how many of its attempts have failed."""

    def log(self, pool: str, task_id: str) -> list[bytes]:
        """The lines of a task's log, at most the last 100, oldest first: JSON documents."""

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and its record."""

    def last(self, pool: str, task_id: str) -> Record | None:
        """The previous generation; kept for a while if a caller waited for its end."""

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> str:
        """Request a message at the end of a generation (0: any), or of the next generation.

        Returns the current state, an empty string if there is no such task, or `superseded`.
        """

    def done_channel(self, pool: str, task_id: str) -> str:
        """The channel on which the end of a task is published."""

    def end_listener(self, pool: str) -> EndListener:
        """Connect for messages about ends, on the server of a pool. Without the capability ENDS, callers poll."""

    def server(self, pool: str) -> str:
        """The name of the server that holds a pool; empty if there is only one. Raises BrokerUnavailable."""

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
        """Apply an operator's or a producer's action to tasks; a row for each, in order."""


class Store(Broker, Storage, Protocol):
    """All that a worker's processes call."""


class Upkeep(Broker, Storage, Protocol):
    """All that a watchdog calls."""

    def load_library(self, pool: str) -> None:
        """Load the Lua library to the server of a pool. Raises LibraryRefused, BrokerUnavailable or StoreFull."""

    def pools(self) -> list[str]:
        """Every pool that was ever used or is declared, sorted by name."""

    def announce(self, pool: str, *, again: bool = False) -> None:
        """Register a pool; ``again`` if it was registered a moment ago and its name may be lost."""

    def homes(self, names: Iterable[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
        """The pools of each server, and the reason for each pool without a server. Raises BrokerUnavailable."""

    def tick(self, pool: str, limit: int = 500) -> TickReport:
        """One round of the watchdog on a pool: at most ``limit`` entries of its agenda."""

    def draw(self, pool: str, holder: str, ms: int) -> bytes:
        """Store a sample as the snapshot that every page reads; empty if another watchdog did so within ``ms``."""

    def history_marks(self, pool: str) -> dict[str, int]:
        """The last step of each level that was rolled up, by the word of the level; 0 for none."""

    def minute_counters(self, pool: str, slots: Sequence[int]) -> list[dict[str, str]]:
        """The counters of each of these minutes; empty for one without any."""

    def history_steps(self, pool: str, level: Level, slots: Sequence[int]) -> list[Rows]:
        """The rows of each of these steps of the history; empty for one without any."""

    def keep_history(self, pool: str, level: Level, steps: Mapping[int, Rows], last: int) -> None:
        """Store rolled-up steps, and note that all up to ``last`` are rolled up.

        A stored step that counts more stays.
        """

    def keep_marks(self, pool: str, conditions: Sequence[Condition], starts: Sequence[Mark]) -> tuple[int, int]:
        """Report all alarms that a pool has now, and starts of workers; return how many alarms began and ended."""

    def check(self, pool: str, after: str = "", *, repair: bool = False, counters: bool = True) -> FsckPage:
        """The step of the consistency check that begins at ``after``. Raises BrokenPool."""

    def note_use(self) -> None:
        """Note that this process uses its version of the Lua library. It stays as long as one does."""

    def other_libraries(self, pool: str) -> dict[str, float]:
        """The Lua libraries of other versions on the pool's server, and the seconds since a process used each.

        None where the server may not be asked. Raises BrokerUnavailable.
        """

    def delete_library(self, pool: str, name: str) -> None:
        """Delete a Lua library on the pool's server. A process that needs it loads it again."""

    def leave_broken(self, pool: str, name: str) -> None:
        """Store in a pool the name (after its prefix) of a key of a wrong type; samples show it."""

    def replication(self, pool: str) -> Replication | None:
        """The replication offset of a pool's server; None where it must not be read."""

    def stranded(self, pool: str) -> tuple[int, str]:
        """How many keys of a pool are on another server than the one that has its slot, and on which; 0 if none is."""

    def was_flushed(self, pool: str) -> bool:
        """Whether the pool was flushed recently. Missing data was then deleted, and not lost."""

    def leave_loss(self, pool: str, data: bytes) -> None:
        """Store a report of lost data in its pool; samples show it."""

    def leave_faults(self, pool: str, data: bytes) -> None:
        """Store in a pool what its watchdog cannot do; samples show it."""


class Handler(Protocol):
    """Runs the tasks of one name; kinds register their own handlers."""

    name: str
    kind: str
    is_async: bool

    def run(self, context: Any) -> Any:
        """Run the task in ``context`` and return its result (a coroutine when ``is_async``)."""


class Waker(Protocol):
    """A blocking wait for wake-up tokens, on a dedicated connection."""

    @property
    def patience_s(self) -> float:
        """Seconds after a connect or an `arm` in which a server that is well answers, if only that nothing came."""

    def fileno(self) -> int:
        """The descriptor to select on."""

    def read(self) -> Iterable[str | Lease]:
        """The tokens that arrived: ``work``, ``commands``, ``cancel <id>``, ``quiet``, ``stop``, or a task's lease."""

    def arm(self) -> None:
        """Wait for the next tokens, after a ``read``: tokens that came in between are not lost."""

    def close(self) -> None:
        """Close the connection."""


def offered(broker: object, port: type, capability: str) -> Any:
    """A broker that has all calls of a port of a kind. Raises NotOffered, and LookupError if it is not registered."""
    if not has_calls(broker, port):
        if all(kind.name != capability for kind in kinds.registered()):
            raise LookupError(f"the kind {capability} is not registered")
        raise NotOffered(store=type(broker).__name__, capability=capability)
    return broker


_FITTING: dict[tuple[type, type], bool] = {}


def has_calls(broker: object, port: type) -> bool:
    """Whether a broker has all calls of a port. The check takes 25 us, so it is made once for each class."""
    of = broker.__class__
    found = _FITTING.get((of, port))
    if found is None:
        found = _FITTING[of, port] = issubclass(of, port)
    return found
