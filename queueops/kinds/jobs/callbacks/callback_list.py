"""Lists of callbacks, and what each sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from queueops.errors import FilterError, NotDecodable
from queueops.inspect.answers import Answer, Broken
from queueops.inspect.query import TaskQuery
from queueops.inspect.redaction import redactor
from queueops.inspect.task_rows import TaskFacts
from queueops.inspect.tasks import tasks
from queueops.kinds.jobs.aggregations.job_list import started_attempts
from queueops.kinds.jobs.aggregations.lane_names import lane_of_destination
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK
from queueops.kinds.jobs.callbacks.callback_senders import HTTP
from queueops.kinds.jobs.callbacks.callback_states import CALLBACK_STATES, callback_word
from queueops.kinds.jobs.callbacks.delivery import message_of
from queueops.kinds.jobs.store import JobCalls, StoredCallback
from queueops.model.explained import advised
from queueops.model.sentences import say
from queueops.redis.broker import get_role
from queueops.tasks.encoding import decode_arguments

NOT_DELIVERED = re.compile(
    r"^[\w.]+\.NotDelivered: |(?<=: )The callback was not delivered\. (?:The answer has the status \d+\. ?)?", re.ASCII
)
"""What an error of an attempt says besides the answer. The list of callbacks shows the answer alone."""


class CallbackRow(Answer, frozen=True, kw_only=True):
    """A callback: where it goes, the job whose outcome it sends, and what the target answered last."""

    TEXTS: ClassVar = ("url", "answer")
    STORED: ClassVar = ("answer",)

    id: str
    pool: str
    state: str
    lane: str
    url: str = ""  # of the target
    job: str = ""
    success: bool = False  # whether the job succeeded
    attempt: int = 0  # attempts that failed
    started: int = 0  # attempts that have begun
    retries: int = 0
    entered_ms: int = 0
    due_ms: int | None = None  # of the next attempt
    answer: str = ""  # the last one, in one line; of an attempt without answer: the error
    allowed: tuple[str, ...] = ()  # verbs of queueops.control that its state allows

    @property
    def word(self) -> str:
        """Its state as a word of CALLBACK_STATES. `state` is that of its record."""
        return callback_word(self.state)


class CallbackPage(Answer, frozen=True, kw_only=True):
    """One page of callbacks, the latest first; `next` continues it, empty at the end."""

    rows: tuple[CallbackRow, ...]
    next: str = ""
    total: int = 0
    exact: bool = True  # otherwise `total` is an upper bound
    partial: bool = False  # the page ended before it was full; `next` continues it
    broken: tuple[Broken, ...] = ()


def callbacks(state: str = "", destination: str = "", pool: str = "", after: str = "", limit: int = 50) -> CallbackPage:
    """The callbacks in a state, a word of CALLBACK_STATES, and to a host; empty texts: all. Raises FilterError."""
    page = tasks(callback_query(state, destination, pool), after, limit)
    stored = get_role(JobCalls).callbacks([(row.pool, row.id) for row in page.rows])
    return CallbackPage(
        rows=tuple(callback_row(row, stored[row.pool, row.id], row.error) for row in page.rows),
        next=page.next,
        total=page.total,
        exact=page.exact,
        partial=page.partial,
        broken=page.broken,
    )


def callback_query(state: str = "", destination: str = "", pool: str = "") -> TaskQuery:
    """The filter of a list of tasks for these callbacks. Raises FilterError."""
    if state and state not in CALLBACK_STATES:
        values = {"state": repr(state), "advice": advised(state, CALLBACK_STATES)}
        raise FilterError(reason=say("there is no state %(state)s of callbacks%(advice)s", **values))
    lane = lane_of_destination(destination) if destination else ""
    return TaskQuery(kind=CALLBACK, state=CALLBACK_STATES[state] if state else "", lane=lane, pool=pool).checked()


def callback_body(id: str, pool: str = "default") -> str:
    """The body that a callback sends, with secrets masked; empty if it is gone or cannot be read."""
    return body_of(get_role(JobCalls).callbacks([(pool, id)])[pool, id])


def body_of(stored: StoredCallback) -> str:
    """The body of a stored callback, with secrets masked; empty if it cannot be read."""
    try:
        _, body = message_of(stored.args, stored.previous)
    except NotDecodable:
        return ""
    return redactor().document(body)


def callback_row(row: TaskFacts, stored: StoredCallback, error: str) -> CallbackRow:
    """A callback of its task and of what is stored; ``error`` is that of its last attempt."""
    told = _told(stored.args)
    return CallbackRow(
        id=row.id,
        pool=row.pool,
        state=row.state,
        lane=row.lane,
        url=f"{told['by']}:{told.get('to')}" if told.get("by", HTTP) != HTTP else str(told.get("to") or ""),
        job=str(told.get("job") or ""),
        success=bool(told.get("success")),
        attempt=row.attempt,
        started=started_attempts(row),
        retries=row.retries,
        entered_ms=row.entered_ms,
        due_ms=row.due_ms,
        answer=_answer(stored.result) or NOT_DELIVERED.sub("", error) or row.reason,
        allowed=row.allowed,
    )


def _told(arguments: bytes) -> Mapping[str, Any]:
    try:
        return decode_arguments(CALLBACK, arguments)[1]
    except NotDecodable:
        return {}


def _answer(result: bytes) -> str:
    """What the target answered at the end, in one line."""
    try:
        found = msgspec.json.decode(result, type=dict[str, Any]) if result else {}
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    answer = str(found.get("answer") or "")
    return f"HTTP {found['status']}: {answer}".rstrip(": ") if "status" in found else answer
