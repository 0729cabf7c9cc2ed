"""Sending callbacks again: at once or at a rate, to the same address or to another one."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple, Self

from queueops.control.lanes import ALLOWED, is_allowed
from queueops.control.per_pool_calls import GONE, SILENT, checked, located
from queueops.errors import BadOption, NotDecodable
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK, Target
from queueops.kinds.jobs.callbacks.callback_senders import HTTP
from queueops.kinds.jobs.store import JobCalls, LaneOfJobs, SentAgain
from queueops.model.contracts import Row
from queueops.model.ids import new_id
from queueops.model.sentences import say
from queueops.redis.broker import get_role
from queueops.tasks.encoding import decode_arguments, encode_arguments

NO_CALLBACK = "it is not a callback"
LONGEST_DELAY_S = 366 * 86_400


class Pace(NamedTuple):
    """When each of many callbacks starts: so long after the one before it, the first one after a delay."""

    gap_ms: float = 0.0
    first_ms: float = 0.0

    @classmethod
    def of(cls, rate: Any, delay: Any) -> Self:
        """The pace of `rate` starts a second; without a rate all start at once. Raises BadOption."""
        if rate is not None and not is_allowed("rate", rate):
            raise BadOption(name="rate", value=rate, expected=say("%(range)s, or None", range=ALLOWED["rate"]))
        is_number = isinstance(delay, int | float) and not isinstance(delay, bool) and isfinite(delay)
        if not is_number or not 0 <= delay <= LONGEST_DELAY_S:
            raise BadOption(name="delay", value=delay, expected="seconds, at most a year")
        return cls(1000 / rate if rate else 0.0, delay * 1000)

    def wait_ms(self, number: int) -> int:
        """The time until the callback of this number starts; the first is number 0."""
        return round(self.first_ms + number * self.gap_ms)


def send_again(
    ids: Sequence[str],
    pool: str,
    *,
    pace: Pace,
    to: Target | None = None,
    who: str = "",
    token: str = "",
) -> list[Row]:
    """Send callbacks again, to another address if one is given; an answer for each.

    Each pool is one call of the store, beside those that read the callbacks.
    """
    wanted, token = checked(ids), token or new_id()
    found, silent = located(wanted, pool)
    waits = {id: pace.wait_ms(number) for number, id in enumerate(wanted)}
    rows: dict[str, Row] = {}
    for place, there in found.items():
        arguments = dict.fromkeys(there, b"")
        if to is not None:
            arguments, refused = _redirected(place, there, to.destination)
            rows |= refused
        sent = [SentAgain(id, data, waits[id]) for id, data in arguments.items()]
        lane = to.lane(place) if to is not None else None
        rows |= {row.id: _told(row) for row in _in_store(place, sent, lane, who, token)}
    word, detail = ("REFUSED", SILENT.format("; ".join(sorted(set(silent.values()))))) if silent else ("GONE", GONE)
    return [rows.get(id) or Row(id=id, word=word, state="", detail=detail) for id in wanted]


def _in_store(pool: str, sent: Sequence[SentAgain], lane: LaneOfJobs | None, who: str, token: str) -> list[Row]:
    return get_role(JobCalls).send_again(pool, sent, lane, who=who, token=token) if sent else []


def _redirected(pool: str, ids: Sequence[str], url: str) -> tuple[dict[str, bytes], dict[str, Row]]:
    """The arguments of callbacks with another address, and the answers for those whose arguments cannot be read."""
    calls = get_role(JobCalls)
    kinds = calls.kinds_and_states(pool, ids)
    stored = calls.arguments([(pool, id) for id in ids])
    found: dict[str, bytes] = {}
    refused: dict[str, Row] = {}
    for id in ids:
        kind, state = kinds[id]
        if kind != CALLBACK:
            found[id] = b""
            continue
        try:
            values, named = decode_arguments(CALLBACK, stored[pool, id])
            found[id] = encode_arguments(CALLBACK, values, {**named, "by": HTTP, "to": url})
        except NotDecodable as error:
            refused[id] = Row(id=id, word="REFUSED", state=state, detail=str(error))
    return found, refused


def _told(row: Row) -> Row:
    """An answer of the store; a repeated call of one action has done it before."""
    if row.word == "REPEAT" and not row.detail:
        return Row(id=row.id, word="OK", state=row.state)
    return row
