"""Questions about operations: those that run, how far they have come, and what the ended ones did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from queueops.errors import NotDecodable
from queueops.inspect.answers import Answer
from queueops.inspect.errors import read_failure, title
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader, pools_of
from queueops.kinds.operations.handlers import order_of
from queueops.kinds.operations.order import OPERATION, OperationRow, Order
from queueops.kinds.operations.preview import OperationPreview, PartsOf, operation_preview
from queueops.kinds.operations.waits import OperationWait, operation_waits, pools_without_workers
from queueops.model.states import TERMINAL, State
from queueops.redis.query_replies import maybe_real, maybe_whole, text, whole
from queueops.redis.reader import Reader

__all__ = [
    "Operation",
    "OperationPreview",
    "OperationWait",
    "PartsOf",
    "operation",
    "operation_preview",
    "operation_waits",
    "operations",
    "operations_of",
    "pools_without_workers",
]

MOST = 20
"""Operations of a pool that are listed."""


class Operation(Answer, frozen=True, kw_only=True):
    """An operation: a bulk action that workers perform.

    ``count`` is the most that it changes. ``left`` counts tasks that match and were left as they are, ``why`` is the
    reason of the first one.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ("why", "reason", "error")
    STORED: ClassVar[tuple[str, ...]] = ("why", "reason")

    pool: str
    id: str
    state: str
    verb: str
    who: str
    token: str
    filter: dict[str, str]
    takes_back: bool  # it undoes another one
    count: int
    seen: int
    changed: int
    left: int
    why: str = ""
    reason: str = ""  # why its task ended
    error: str = ""  # of its last attempt, if that failed
    attempts: int = 0  # those that failed
    created_ms: int
    began_ms: int | None = None
    ended_ms: int | None = None
    is_paused: bool = False
    is_stopping: bool = False
    is_cut: bool = False  # it ended at `count`, and more tasks match
    rate: float = 0.0  # tasks per second, of the last second or more

    @property
    def has_ended(self) -> bool:
        """Whether it changes nothing more, unless it is retried."""
        return self.state in TERMINAL

    @property
    def fails(self) -> bool:
        """Whether its last attempt failed. A worker tries again, until it has failed for good."""
        return bool(self.error) and self.state in (State.RESTART, State.FAILED)

    @property
    def is_running(self) -> bool:
        """Whether a worker performs it now."""
        return self.state == State.LOCKED and not self.is_paused

    @property
    def left_s(self) -> float | None:
        """Estimated seconds to its end; None if it does not run."""
        if not self.is_running or not self.rate:
            return None
        return max(0, self.count - self.seen) / self.rate


class StoredOperation(NamedTuple):
    """An operation as it is stored, with its order."""

    row: OperationRow
    order: Order


_READINGS: SharedReadings[list[Operation]] = SharedReadings()
_KNOWN: SharedReadings[dict[tuple[str, str], Operation | None]] = SharedReadings()


def operations(pool: str = "", *, max_age_s: float = 0.0) -> list[Operation]:
    """The newest operations of a pool or of all, newest first; at most 20 of each pool.

    The answer may be one that this process read up to ``max_age_s`` seconds ago.
    """
    return _READINGS.read(pool, max_age_s, lambda: _operations(pool))


def operation(id: str, pool: str) -> Operation | None:
    """One operation; None if there is none of this id."""
    found = read_operation(pool, id)
    return None if found is None else _shown(pool, found)


def operations_of(
    places: Sequence[tuple[str, str]], *, max_age_s: float = 0.0
) -> dict[tuple[str, str], Operation | None]:
    """The operations of these pools and ids, in one round trip; None where there is none.

    The answer may be one that this process read up to ``max_age_s`` seconds ago. Raises BrokerUnavailable.
    """
    wanted = tuple(sorted(set(places)))
    return _KNOWN.read(wanted, max_age_s, lambda: _operations_of(wanted)) if wanted else {}


def read_operation(pool: str, id: str) -> StoredOperation | None:
    """One operation as it is stored."""
    found = _read(open_reader(), {pool: [id]}).get(pool, [])
    return found[0] if found else None


def _operations(pool: str) -> list[Operation]:
    reader = open_reader()
    found = _read(reader, {name: [] for name in pools_of(reader, pool)})
    shown = [_shown(name, each) for name, rows in found.items() for each in rows]
    return sorted(shown, key=lambda each: -each.created_ms)


def _operations_of(places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Operation | None]:
    reader = open_reader()
    found = _read(reader, {pool: [id for its_pool, id in places if its_pool == pool] for pool, _ in places})
    reader.ensure_all()
    known = {(pool, each.row.id): _shown(pool, each) for pool, rows in found.items() for each in rows}
    return {place: known.get(place) for place in places}


def _read(reader: Reader, wanted: Mapping[str, Sequence[str]]) -> dict[str, list[StoredOperation]]:
    """The operations of these ids in each pool; without ids the newest ones."""
    replies = reader.ask("operations", {pool: (MOST, *ids) for pool, ids in wanted.items()})
    return {pool: [each for row in rows if (each := _stored(row))] for pool, rows in replies.items()}


def _stored(reply: Sequence[Any]) -> StoredOperation | None:
    """An operation; None if its arguments cannot be read."""
    (
        id,
        state,
        args,
        created,
        ended,
        reason,
        began,
        held,
        seen,
        changed,
        left,
        why,
        rate,
        looked,
        stopping,
        crashes,
        cut,
        error,
        attempts,
    ) = reply
    row = OperationRow(
        id=text(id),
        state=text(state or b""),
        args=args or b"",
        created_ms=maybe_whole(created),
        ended_ms=maybe_whole(ended),
        reason=text(reason or b""),
        began_ms=maybe_whole(began),
        held_ms=maybe_whole(held),
        seen=whole(seen),
        changed=whole(changed),
        left=whole(left),
        why=text(why or b""),
        rate=maybe_real(rate) or 0.0,
        looked=whole(looked),
        stopping=text(stopping or b""),
        crashes=whole(crashes),
        is_cut=bool(cut),
        error=error or b"",
        attempts=whole(attempts),
    )
    try:
        return StoredOperation(row, order_of(OPERATION, row.args))
    except NotDecodable:
        return None


def _shown(pool: str, found: StoredOperation) -> Operation:
    row, order = found
    return Operation(
        pool=pool,
        id=row.id,
        state=row.state,
        verb=order.verb,
        who=order.who,
        token=order.token,
        filter=order.filter,
        takes_back=order.takes_back,
        count=order.most,
        seen=row.seen,
        changed=row.changed,
        left=row.left,
        why=row.why,
        reason=row.reason,
        error=title(read_failure(row.error)) if row.error else "",
        attempts=row.attempts,
        created_ms=row.created_ms or order.asked_ms,
        began_ms=row.began_ms,
        ended_ms=row.ended_ms,
        is_paused=row.held_ms is not None,
        is_stopping=bool(row.stopping),
        is_cut=row.is_cut,
        rate=row.rate,
    )
