"""The verbs on tasks, one or many. Which states allow them stands in `queueops.model.states.ACTIONS`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from queueops.control.per_pool_calls import act
from queueops.errors import BadOption
from queueops.model.contracts import Row
from queueops.model.ids import check_lane
from queueops.model.reasons import kept
from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader

LONGEST_S = 10 * 366 * 86400
"""Ten years: a longer time to postpone or keep a task is taken for a mistake."""
PRIORITIES = range(-100, 101)


def retry(ids: Sequence[str], pool: str = "", *, everything: bool = False, who: str = "", token: str = "") -> list[Row]:
    """Run ended tasks again, as a new generation; those that back off start their next attempt now.

    A plain task starts from its beginning. A map-reduce task goes on where it ended, with the results of its chunks: at
    its reduce when it came so far, else at its failed chunks; only one whose map did not end maps again (`restart_from`
    has the others map anew). A chain or a group goes on at what failed, an iterator at its last state; they begin
    anew with `everything`.
    """
    return act("retry", ids, pool, value="all" if everything else "", who=who, token=token)


def reinstate(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Take a cancel back: the tasks are queued again, or wait until they are due, with the attempts that they have had.

    One that ran when it was cancelled runs again. What has parts or chunks goes on as by `retry`; it is refused where
    it would have to wait.
    """
    return act("reinstate", ids, pool, who=who, token=token)


def run_now(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Make tasks ready at once that wait for their time."""
    return act("run_now", ids, pool, who=who, token=token)


def postpone(
    ids: Sequence[str],
    *,
    seconds: float | timedelta | None = None,
    until_ms: int | None = None,
    pool: str = "",
    who: str = "",
    token: str = "",
) -> list[Row]:
    """Let tasks that have not begun wait: `seconds` from now, or until an epoch time in ms. Raises BadOption."""
    return act("postpone", ids, pool, value=due_ms(seconds, until_ms), who=who, token=token)


def cancel(
    ids: Sequence[str], reason: str = "", pool: str = "", *, hard: bool = False, who: str = "", token: str = ""
) -> list[Row]:
    """Cancel tasks that have not ended; those that run are asked to stop. Raises BadOption for a bad reason.

    With `hard` those that run are interrupted; one that still runs a second later is killed with its worker process,
    whose other tasks run again elsewhere.
    """
    if not _is(str, reason):
        raise BadOption(name="reason", value=reason, expected="a text")
    return act("cancel", ids, pool, value=kept(reason), hard=hard, who=who, token=token)


def release(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Take running tasks from their workers, and make them ready again; a worker that goes on is refused at its end."""
    return act("release", ids, pool, who=who, token=token)


def delete(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Move ended tasks to the trash, where they can be restored from for 24 hours."""
    return act("delete", ids, pool, who=who, token=token)


def restore(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Bring tasks back from the trash."""
    return act("restore", ids, pool, who=who, token=token)


def requeue(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Give quarantined tasks another try."""
    return act("requeue", ids, pool, who=who, token=token)


def discard(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Throw quarantined tasks away, for good."""
    return act("discard", ids, pool, who=who, token=token)


def set_priority(ids: Sequence[str], priority: int, pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Change the priority (-100 to 100, higher first) of tasks that have not begun. Raises BadOption."""
    if not _is(int, priority) or priority not in PRIORITIES:
        raise BadOption(name="priority", value=priority, expected="a whole number from -100 to 100")
    return act("priority", ids, pool, value=priority, who=who, token=token)


def move(ids: Sequence[str], lane: str, pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Put tasks that have not begun into another lane of their pool. Raises BadId for a bad name of a lane."""
    return act("move", ids, pool, value=check_lane(lane), who=who, token=token)


def keep(
    ids: Sequence[str], seconds: float | timedelta, pool: str = "", *, who: str = "", token: str = ""
) -> list[Row]:
    """Keep ended tasks for so long from now. Raises BadOption."""
    return act("keep", ids, pool, value=_milliseconds("seconds", seconds), who=who, token=token)


def due_ms(seconds: float | timedelta | None, until_ms: int | None) -> int:
    """The time that a postpone means, in epoch ms of the store's clock. Raises BadOption."""
    if (seconds is None) == (until_ms is None):
        raise BadOption(name="postpone", value=None, expected="either seconds or until_ms")
    now = Reader(get_broker()).now_ms()
    due = until_ms if until_ms is not None else now + _milliseconds("seconds", seconds or 0)
    if not _is(int, due) or not 0 < due <= now + LONGEST_S * 1000:
        raise BadOption(name="until_ms", value=due, expected="a time within the next ten years")
    return due


def _milliseconds(name: str, value: float | timedelta) -> int:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not _is((int, float), seconds) or not 0 <= seconds <= LONGEST_S:
        raise BadOption(name=name, value=value, expected="from 0 seconds to ten years")
    return round(seconds * 1000)


def _is(kind: type | tuple[type, ...], value: object) -> bool:
    """Callers are not always checked by a type checker."""
    return isinstance(value, kind) and not isinstance(value, bool)
