"""Per-pool calls: find the pool of each task, and send one call of an action to each pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from queueops.errors import BadOption, TooMany
from queueops.errors.kinds import NotOffered
from queueops.model.contracts import Row
from queueops.model.sentences import say
from queueops.redis.broker import get_broker
from queueops.redis.query_replies import may_be_id
from queueops.redis.reader import Reader
from queueops.stores.by_id import found_by_id
from queueops.tasks import registry

MOST = 500
LONGEST_TOKEN = 200
GONE = "there is no task of this id"
SILENT = "no pool that answers has it ({})"


def act(
    verb: str,
    ids: Sequence[str],
    pool: str,
    *,
    value: str | int | bytes = "",
    hard: bool = False,
    reason: str = "",
    who: str = "",
    token: str = "",
    seen: str = "",
) -> list[Row]:
    """Perform one action on each task, and answer in the order of `ids` (each once).

    Tasks that this same action changed before, when its answer was lost, are answered as OK. Calls with one `token` are
    one action. A task on which an operator has acted since ``seen`` is refused. Raises BadOption unless `ids` is a list
    of ids, TooMany and BrokerUnavailable.
    """
    wanted = checked(ids)
    if len(token) > LONGEST_TOKEN:
        raise BadOption(name="token", value=token, expected=f"at most {LONGEST_TOKEN} characters")
    if not wanted:
        return []
    found, silent = located(wanted, pool)
    word, detail = ("REFUSED", SILENT.format("; ".join(sorted(set(silent.values()))))) if silent else ("GONE", GONE)
    answers = {task_id: Row(id=task_id, word=word, state="", detail=detail) for task_id in wanted}
    broker = get_broker()
    for place, there in found.items():
        rows = broker.control(
            place, verb, there, value=value, hard=hard, reason=reason, who=who, token=token, seen=seen
        )
        answers.update((row.id, row) for row in rows)
        registry.tell_cancelled(place, verb, rows)
    return [_told(answers[task_id]) for task_id in wanted]


def checked(ids: Sequence[str]) -> list[str]:
    """Each id once. Raises BadOption unless it is a list of ids, and TooMany."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise BadOption(name="ids", value=ids, expected="a list of ids")
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > MOST:
        raise TooMany(count=len(wanted), what="tasks", limit=MOST)
    return wanted


def places(ids: Sequence[str], pool: str) -> dict[str, list[str]]:
    """The ids by the pool that holds them. Unknown ids, and texts that cannot be an id, are left out.

    Raises BrokerUnavailable if a task may be in a pool that does not answer.
    """
    found, silent = located(ids, pool)
    if silent and sum(map(len, found.values())) < len(ids):
        raise get_broker().fan_out.unavailable(next(iter(silent.values())))
    return found


def place_of(id: str, pool: str) -> str:
    """The pool that holds a task; empty if it does not exist. Raises BrokerUnavailable like `places`."""
    return next(iter(places([id], pool)), "")


def located(ids: Sequence[str], pool: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The ids by the pool that holds them, and the reasons why other pools did not answer."""
    ids = [task_id for task_id in ids if may_be_id(task_id)]
    found: dict[str, list[str]] = {}
    try:
        reader = Reader(get_broker())
    except NotOffered:  # a store without lists
        for task_id, (place, _) in ((each, at) for each in ids if (at := found_by_id(each, pool)) is not None):
            found.setdefault(place, []).append(task_id)
        return found, {}
    if pool:
        return ({pool: ids} if ids and reader.knows(pool) else {}), {}
    for task_id, place in reader.locate(reader.pools(), ids).items():
        found.setdefault(place, []).append(task_id)
    return found, reader.silent


def check_pool(pool: str) -> None:
    """Raise BadOption for a pool that does not exist."""
    if not Reader(get_broker()).knows(pool):
        raise BadOption(name="pool", value=pool, expected=say("one that has been used"))


def _told(row: Row) -> Row:
    if row.word == "REPEAT" and not row.detail:
        return Row(id=row.id, word="OK", state=row.state)
    return row if row.detail or row.word != "GONE" else Row(id=row.id, word=row.word, state=row.state, detail=GONE)
