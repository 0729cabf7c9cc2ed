"""Actions on operations: begin one, pause it, let it go on, stop it, and take back what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from queueops import inspect
from queueops.control.per_pool_calls import check_pool, checked
from queueops.control.tasks import LONGEST_S, PRIORITIES, cancel, due_ms, run_now
from queueops.errors import BadOption, FilterError
from queueops.inspect.answers import Listing
from queueops.inspect.facets import counts_by_pool
from queueops.inspect.query import TaskQuery
from queueops.inspect.tasks import walks, wanted_fields
from queueops.kinds.operations.inspect import read_operation
from queueops.kinds.operations.order import LANE, OPERATION, Order
from queueops.kinds.operations.preview import indexes_of
from queueops.kinds.operations.store import OperationCalls
from queueops.model.contracts import Push, Row
from queueops.model.ids import check_lane, new_id
from queueops.model.reasons import kept
from queueops.model.sentences import say
from queueops.model.states import State, states_allowing
from queueops.redis.broker import get_broker, get_role
from queueops.tasks.encoding import encode_arguments

__all__ = ["begin_operation", "pause_operations", "resume_operations", "stop_operations", "undo_operation"]

KEPT_MS = 30 * 86_400_000
"""So long an ended operation is kept: its audit entry asks for the counts."""
RETRIES = 20
STOPPED = "stopped by an operator"
WALKED_BACK: dict[str, tuple[str, tuple[str, ...]]] = {
    "cancel": ("reinstate", (f"state:{State.CANCELLED}",)),
    "delete": ("restore", ("trashed",)),
    "move": ("move", ()),
    "postpone": ("postpone", ()),
    "priority": ("priority", ()),
    "run_now": ("postpone", ()),
}
"""The verb that takes back what a verb did, and the indexes of these tasks; none: those of states that allow it."""
NOT_OF_IDS = say("a filter by id has one task: use the action on it")


def begin_operation(
    verb: str,
    query: TaskQuery,
    *,
    most: int | None = None,
    asked_ms: int | None = None,
    who: str = "",
    token: str = "",
    **values: Any,
) -> Listing[tuple[str, str]]:
    """Begin an action on all tasks that match the filter now; workers perform it, one operation in each pool.

    The tasks are those that match, and entered their state before `asked_ms`, the time of the question: by default now.
    At most `most` are changed; each pool has a share by its number of matching tasks. `values` are those of the verb in
    `queueops.control`: `reason` and `hard`, `seconds` or `until_ms`, `lane`, `priority`, `everything`. Returns pool and
    id of each operation; none if no task matches. `broken` of the answer names the pools that do not answer: there
    nothing is begun. Raises BadOption, BadId, FilterError, and BrokerUnavailable if no pool of the filter answers.
    """
    value, hard = _value(verb, values)
    if query.id:
        raise FilterError(reason=NOT_OF_IDS)
    found, broken = walks(query)
    counted = {} if all(walked.exact for walked in found.values()) else counts_by_pool(query)
    left = sum(walked.size for walked in found.values()) if most is None else most
    orders: dict[str, Order] = {}
    for pool, walked in found.items():
        count = walked.size if (known := counted.get(pool)) is None else known
        share = min(left, count)
        left -= share
        if not count:
            continue
        orders[pool] = Order(
            verb=verb,
            token=token or new_id(),
            indexes=indexes_of(verb, walked),
            wanted=wanted_fields(query, pool),
            most=share,
            asked_ms=asked_ms or inspect.now_ms(),
            value=value,
            hard=hard,
            who=who,
            filter=query.params(),
        )
    return Listing(_push(orders), broken)


def undo_operation(id: str, pool: str, *, who: str = "") -> list[tuple[str, str]]:
    """Take back what an operation did, as far as possible, by another operation. Returns its pool and id.

    What can be taken back is a cancel of tasks that had not begun, a delete, a move, a postpone, a run now, a priority.
    The list is empty for another verb, and for an operation that does not exist.
    """
    check_pool(pool)
    done = read_operation(pool, id)
    if done is None or done.order.verb not in WALKED_BACK or done.order.takes_back:
        return []
    verb, indexes = WALKED_BACK[done.order.verb]
    order = Order(
        verb=verb,
        token=f"{done.order.token}.undo",
        indexes=indexes or tuple(f"state:{state}" for state in states_allowing(done.order.verb)),
        wanted=(("ot", done.order.token),),
        most=max(done.row.changed, 1),
        asked_ms=inspect.now_ms(),
        who=who,
        filter=done.order.filter,
        takes_back=True,
    )
    return _push({pool: order})


def pause_operations(ids: Sequence[str], pool: str, *, who: str = "") -> list[Row]:
    """Pause operations of a pool: the part under way ends, and the worker's slot is free for other tasks."""
    return _held(ids, pool, holds=True, who=who)


def resume_operations(ids: Sequence[str], pool: str, *, who: str = "") -> list[Row]:
    """Let paused operations of a pool go on, from their place."""
    rows = _held(ids, pool, holds=False, who=who)
    run_now([row.id for row in rows if row.state == State.POSTPONED], pool, who=who)
    return rows


def stop_operations(ids: Sequence[str], pool: str, *, who: str = "") -> list[Row]:
    """Stop operations of a pool for good. What they have changed stays changed, and can be undone."""
    return cancel(ids, STOPPED, pool, who=who)


def _held(ids: Sequence[str], pool: str, *, holds: bool, who: str) -> list[Row]:
    wanted, calls = checked(ids), get_role(OperationCalls)
    check_pool(pool)
    found = [(id, *calls.hold_operation(pool, id, holds=holds, who=who)) for id in wanted]
    return [Row(id=id, word=word, state=state) for id, word, state in found]


def _push(orders: Mapping[str, Order]) -> list[tuple[str, str]]:
    """Push the task of each operation."""
    pushes = [
        Push(
            id=new_id(),
            kind=OPERATION,
            name=OPERATION,
            pool=pool,
            lane=LANE,
            args=encode_arguments(OPERATION, (), _content(order)),
            retries=RETRIES,
            keep_ms=KEPT_MS,
        )
        for pool, order in orders.items()
    ]
    if pushes:
        get_broker().push(pushes)
    return [(push.pool, push.id) for push in pushes]


def _content(order: Order) -> dict[str, Any]:
    return {name: getattr(order, name) for name in order.__struct_fields__}


def _value(verb: str, given: Mapping[str, Any]) -> tuple[str, bool]:
    """The value of a verb as it is stored, and whether running tasks are interrupted. Raises BadOption and BadId."""
    if verb not in VALUES:
        raise BadOption(name="verb", value=verb, expected=f"one of {', '.join(sorted(VALUES))}")
    read, names = VALUES[verb]
    for name in given:
        if name not in names:
            raise BadOption(
                name=name, value=given[name], expected=f"no such value: {verb} takes {', '.join(names) or 'none'}"
            )
    return read(given), bool(given.get("hard"))


def _reason(given: Mapping[str, Any]) -> str:
    reason = given.get("reason", "")
    if not isinstance(reason, str):
        raise BadOption(name="reason", value=reason, expected="a text")
    return kept(reason)


def _priority(given: Mapping[str, Any]) -> str:
    priority = given.get("priority")
    if not isinstance(priority, int) or isinstance(priority, bool) or priority not in PRIORITIES:
        raise BadOption(name="priority", value=priority, expected="a whole number from -100 to 100")
    return str(priority)


def _keep(given: Mapping[str, Any]) -> str:
    seconds = given.get("seconds")
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds <= LONGEST_S:
        raise BadOption(name="seconds", value=seconds, expected="from 0 seconds to ten years")
    return str(round(seconds * 1000))


VALUES: dict[str, tuple[Callable[[Mapping[str, Any]], str], tuple[str, ...]]] = {
    "cancel": (_reason, ("reason", "hard")),
    "delete": (lambda given: "", ()),
    "discard": (lambda given: "", ()),
    "keep": (_keep, ("seconds",)),
    "move": (lambda given: check_lane(given.get("lane", "")), ("lane",)),
    "postpone": (lambda given: str(due_ms(given.get("seconds"), given.get("until_ms"))), ("seconds", "until_ms")),
    "priority": (_priority, ("priority",)),
    "reinstate": (lambda given: "", ()),
    "release": (lambda given: "", ()),
    "requeue": (lambda given: "", ()),
    "retry": (lambda given: "all" if given.get("everything") else "", ("everything",)),
    "run_now": (lambda given: "", ()),
}
"""The verbs of operations: how the value is read, and the names of what a caller may give."""
