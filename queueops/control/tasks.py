"""Actions on tasks, one or many. `queueops.model.states.table` has the states that allow them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from queueops.control.per_pool_calls import act
from queueops.errors import BadOption
from queueops.errors.kinds import NotOffered
from queueops.model.contracts import Row
from queueops.model.ids import check_lane
from queueops.model.reasons import kept
from queueops.model.sentences import say
from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader

LONGEST_S = 10 * 366 * 86400
"""Ten years: a longer time to postpone or keep a task is refused as a mistake."""
PRIORITIES = range(-100, 101)


def retry(ids: Sequence[str], pool: str = "", *, everything: bool = False, who: str = "", token: str = "") -> list[Row]:
    """Run ended tasks again, as a new generation; tasks in back-off start their next attempt now.

    A plain task starts from its beginning. A map-reduce task continues where it ended, with the results of its chunks.
    That is its reduce if it came so far, else its failed chunks. It maps again only if its map did not end;
    `restart_from` maps others again. A chain or a group continues with its failed parts, an iterator at its last state.
    With `everything` they start from nothing.
    """
    return act("retry", ids, pool, value="all" if everything else "", who=who, token=token)


def reinstate(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Undo a cancel: the tasks are queued again, or wait until they are due, with their attempts so far.

    A task that ran when it was cancelled runs again. A task with parts or chunks continues as by `retry`. The reinstate
    of such a task is refused while its due time is in the future.
    """
    return act("reinstate", ids, pool, who=who, token=token)


def run_now(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Make tasks ready at once that are postponed or in back-off."""
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
    """Postpone tasks that have not begun: `seconds` from now, or until an epoch time in ms. Raises BadOption."""
    return act("postpone", ids, pool, value=due_ms(seconds, until_ms), who=who, token=token)


def cancel(
    ids: Sequence[str], reason: str = "", pool: str = "", *, hard: bool = False, who: str = "", token: str = ""
) -> list[Row]:
    """Cancel tasks that have not ended; running tasks are asked to stop. Raises BadOption for a bad reason.

    With `hard` running tasks are interrupted. A task that still runs a second later is killed with its worker process.
    The other tasks of that process run again elsewhere.
    """
    if not _is(str, reason):
        raise BadOption(name="reason", value=reason, expected=say("a text"))
    return act("cancel", ids, pool, value=kept(reason), hard=hard, who=who, token=token)


def release(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Release running tasks from their workers: they are ready again. The old worker can no longer settle them."""
    return act("release", ids, pool, who=who, token=token)


def delete(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Delete ended tasks: they move to the trash, from where they can be restored for 24 hours."""
    return act("delete", ids, pool, who=who, token=token)


def restore(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Restore tasks from the trash."""
    return act("restore", ids, pool, who=who, token=token)


def requeue(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Requeue quarantined tasks, for another attempt."""
    return act("requeue", ids, pool, who=who, token=token)


def discard(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Discard quarantined tasks, for good."""
    return act("discard", ids, pool, who=who, token=token)


def set_priority(ids: Sequence[str], priority: int, pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Change the priority (-100 to 100, higher first) of tasks that have not begun. Raises BadOption."""
    if not _is(int, priority) or priority not in PRIORITIES:
        raise BadOption(name="priority", value=priority, expected=say("a whole number from -100 to 100"))
    return act("priority", ids, pool, value=priority, who=who, token=token)


def move(ids: Sequence[str], lane: str, pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Move tasks that have not begun to another lane of their pool. Raises BadId for a bad name of a lane."""
    return act("move", ids, pool, value=check_lane(lane), who=who, token=token)


def keep(
    ids: Sequence[str], seconds: float | timedelta, pool: str = "", *, who: str = "", token: str = ""
) -> list[Row]:
    """Keep ended tasks for this time from now. Raises BadOption."""
    return act("keep", ids, pool, value=_milliseconds("seconds", seconds), who=who, token=token)


def due_ms(seconds: float | timedelta | None, until_ms: int | None) -> int:
    """The time of a postpone, in epoch ms of the store's clock. Raises BadOption."""
    if (seconds is None) == (until_ms is None):
        raise BadOption(name="postpone", value=None, expected=say("either seconds or until_ms"))
    now = _now_ms()
    due = until_ms if until_ms is not None else now + _milliseconds("seconds", seconds or 0)
    if not _is(int, due) or not 0 < due <= now + LONGEST_S * 1000:
        raise BadOption(name="until_ms", value=due, expected=say("a time within the next ten years"))
    return due


def _now_ms() -> int:
    try:
        return Reader(get_broker()).now_ms()
    except NotOffered:  # a store without lists tells no time
        return time.time_ns() // 1_000_000


def _milliseconds(name: str, value: float | timedelta) -> int:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not _is((int, float), seconds) or not 0 <= seconds <= LONGEST_S:
        raise BadOption(name=name, value=value, expected=say("from 0 seconds to ten years"))
    return round(seconds * 1000)


def _is(kind: type | tuple[type, ...], value: object) -> bool:
    """Not all callers use a type checker."""
    return isinstance(value, kind) and not isinstance(value, bool)
