"""Lost answers: find out what an action did when its answer was lost."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.control.per_pool_calls import GONE, checked, places
from queueops.model.contracts import Row
from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader

LEFT = "it was not reached, or something else was done to it since"


def recall(ids: Sequence[str], pool: str = "", *, token: str) -> list[Row]:
    """Return which of these tasks the action with this `token` has changed. This call changes nothing.

    The rows are the action's answers: OK with the present state, REFUSED for a task that it did not reach. GONE is a
    deleted task, whose outcome is unknown. Actions whose token continues this token after a dot count too. A task
    knows only its last action. Raises BadOption, TooMany and BrokerUnavailable.
    """
    wanted = checked(ids)
    reader, answers = Reader(get_broker()), {}
    for place, there in places(wanted, pool).items():
        for id, found in zip(there, reader.marks(place, there), strict=True):
            answers[id] = _row(id, found, token)
    return [answers.get(id) or Row(id=id, word="GONE", state="", detail=GONE) for id in wanted]


def _row(id: str, found: tuple[str, str] | None, token: str) -> Row:
    if found is None:
        return Row(id=id, word="GONE", state="", detail=GONE)
    state, mark = found
    if f"{mark}.".startswith(f"{token}."):
        return Row(id=id, word="OK", state=state)
    return Row(id=id, word="REFUSED", state=state, detail=LEFT)
