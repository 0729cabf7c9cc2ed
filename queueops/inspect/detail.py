"""Task detail: one task in full, with its record, redacted, its history, and its permitted actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from queueops import conf
from queueops.errors.kinds import NotOffered
from queueops.inspect import follow_ups, plain_detail, task_history
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.errors import Failure, read_failure
from queueops.inspect.redaction import redactor
from queueops.inspect.store import LATE_MS, open_reader, parameters, pools_of
from queueops.inspect.task_history import Attempt, LogLine, Moment
from queueops.inspect.task_rows import TaskFacts, facts_of
from queueops.model import kinds
from queueops.model.allowed import allowed_verbs
from queueops.model.expiry import moment_ms
from queueops.model.redact import Redactor, cut, readable
from queueops.model.states import State, StateClass, table
from queueops.model.stored_sentences import TYPED, Stored
from queueops.model.trace_context import sampled_trace
from queueops.redis.query_replies import Detail, may_be_id, maybe_whole, text, whole
from queueops.redis.wire import with_first

RUNNING_AGAIN = ("retry", "edit")
"""Actions not offered for an ended part: its parent task runs it again."""
_PAYLOADS = ("a", "re", "er", "me", "pv")
_REASONS = ("y", "x")


class Beside(Answer, frozen=True, kw_only=True):
    """The neighbour of a part in a chain, before or after it."""

    id: str
    name: str
    state: str


class TaskDetail(TaskFacts, frozen=True, kw_only=True):
    """Everything that is known about one task."""

    TEXTS_OF_TASKS: ClassVar = ("reason", "cancel_requested")
    STORED: ClassVar = ("reason",)

    args_json: str  # the arguments with which it starts
    own_args_json: str = ""  # the same without the result of the task before it: what an edit replaces
    first_is_result: bool = False  # whether the first argument is the result of the task before it
    result_json: str
    error: Failure | None = None
    begun_ms: int | None = None
    first_begun_ms: int | None = None  # of a task that starts several times
    ended_ms: int | None = None
    deadline_ms: int | None = None  # end of the lease, or of the retention
    version: str = ""  # changes with each action of an operator
    fence: int = 0
    uid: int = 0
    timeout_ms: int | None = None
    expires_ms: int | None = None
    retry: str = ""
    keep_ms: int | None = None
    parent: str = ""
    parent_pool: str = ""
    parent_uid: int = 0
    parent_name: str = ""  # of a parent in the same pool, if it exists
    parent_state: str = ""
    retried_by: str = ""  # the chain or group that runs this part again; it cannot be retried alone
    number: int | None = None  # its position there, from 1 on
    siblings: int | None = None  # the number of parts there
    before: Beside | None = None  # the part before it in its chain
    behind: Beside | None = None
    root: str = ""
    trace: str = ""
    trace_url: str = ""  # of its trace, by the setting TRACE_URL
    meta: str = ""
    cancel_requested: str = ""
    next_generation: bool = False
    attempts: tuple[Attempt, ...] = ()
    log: tuple[LogLine, ...] = ()
    timeline: tuple[Moment, ...] = ()
    parts: int | None = None  # of a chain or a group
    parts_open: int = 0  # parts, or tasks of an iterator so far, that have not ended
    phase: str = ""  # of a map-reduce task: `reduce` once all chunks have ended
    on_failure: str = ""  # of a parent task: fail, continue, outcomes
    goes_on_at: str = ""  # stage at which a retry continues an ended map-reduce task: `map`, `process` or `reduce`
    follow_ups: tuple[Any, ...] = ()  # what its end pushes, by outcome
    followed_by: tuple[Any, ...] = ()  # what its last end has pushed
    follow_ups_dead: int = 0  # follow-ups that could not be pushed, and wait for an operator or were dropped
    follows: str = ""  # the task whose end pushed this one
    follows_pool: str = ""
    follows_outcome: str = ""
    broken: tuple[Broken, ...] = ()  # its pool, if not all of its data could be read

    @property
    def parts_ended(self) -> int:
        """The number of ended parts of a chain or a group."""
        return max(0, (self.parts or 0) - self.parts_open)


def task(id: str, pool: str = "") -> TaskDetail | None:
    """Everything about the task of this id, in this pool or in any; None if it does not exist.

    A store without lists tells its record and its log.
    """
    detail = _found(id, pool)
    return None if detail is None or not (detail.record or detail.states) else _describe(detail, redactor())


def brief(id: str, pool: str = "") -> TaskDetail | None:
    """What an action on the task depends on: its state, its parent and its other facts. None if it does not exist.

    It has no payloads, no log, and nothing of its lane, its workers and its parts.
    """
    if not may_be_id(id):
        return None
    try:
        reader = open_reader()
    except NotOffered:
        return task(id, pool)
    fields = tuple(field for field in kinds.fields() if field not in ("s", *_PAYLOADS))
    found = reader.briefs(pools_of(reader, pool), id, fields)
    return _describe(found[0], redactor()) if len(found) == 1 else task(id, pool)


def raw(id: str, pool: str = "") -> dict[str, str]:
    """The record field by field as stored, redacted: `n (name)` to text. Empty if it does not exist."""
    detail = _found(id, pool)
    if detail is None:
        return {}
    hide, (kind, name) = redactor(), _identity(detail)
    return {_label(field): _raw_value(field, value, hide, parameters(kind, name)) for field, value in _sorted(detail)}


def find(id: str, pool: str = "") -> Detail | None:
    """The stored data of an id, from the pool with a record if there are several.

    Raises BrokerUnavailable when it may be in a pool that does not answer.
    """
    if not may_be_id(id):
        return None
    reader = open_reader()
    known = [detail for detail in reader.details(pools_of(reader, pool), id, LATE_MS) if detail.known]
    if not known:
        reader.ensure_all()
    return max(known, key=lambda detail: (bool(detail.record), bool(detail.states)), default=None)


def _found(id: str, pool: str) -> Detail | None:
    try:
        return find(id, pool)
    except NotOffered:
        return plain_detail.read(id, pool)


def state_of(detail: Detail) -> str:
    """The state in the record. Without a state, or in quarantine, that of the index that lists the task."""
    said = text(detail.record.get(b"s"))
    if State.QUARANTINED in detail.states:
        return State.QUARANTINED
    return said if said in table().classes or not detail.states else next(iter(detail.states))


def fields_of(detail: Detail) -> dict[str, str]:
    """The record's fields as text, without payloads; its reasons redacted for the current user."""
    payloads = (*_PAYLOADS, *_raw_of_kinds())
    fields = {text(key): text(value) for key, value in detail.record.items() if text(key) not in payloads}
    return fields | {reason: redactor().words_of_task(fields[reason]) for reason in _REASONS if reason in fields}


def retried_by(detail: Detail, state: str) -> str:
    """The task that runs this ended part of it again; empty if this task can be retried alone."""
    return next(filter(None, (brought.retried_by(detail, state) for brought in kinds.roles("details"))), "")


def _describe(detail: Detail, hide: Redactor) -> TaskDetail:
    record, state = fields_of(detail), state_of(detail)
    (kind, name), field, lines = _identity(detail), record.get, task_history.read_lines(detail.log)
    names = parameters(kind, name)
    args, result, error, meta = (detail.record.get(short, b"") for short in (b"a", b"re", b"er", b"me"))
    previous = detail.record.get(b"pv")
    given, own = (args, names) if previous is None else (with_first(args, previous), names[1:])
    entered, leased_or_over = detail.states.get(state, 0), _class_of(state) in (StateClass.LEASED, StateClass.TERMINAL)
    return TaskDetail(
        **facts_of(record, state),
        id=detail.id,
        pool=detail.pool,
        kind=kind,
        lane=detail.lane,
        created_ms=whole(field("c")) or entered,
        entered_ms=entered,
        args=hide.call(given, names) if given else "",
        args_json=hide.document(given or b"[[],{}]", names),
        own_args_json=hide.document(args or b"[[],{}]", own),
        first_is_result=previous is not None,
        result_json=hide.document(result) if result else "",
        error=read_failure(error),
        reason="" if state == State.SUCCEEDED else field("y", ""),  # that of an earlier wait
        begun_ms=maybe_whole(field("b")),
        ended_ms=maybe_whole(field("e")),
        deadline_ms=detail.due if leased_or_over else None,
        version=field("ot", "") or "-",
        fence=whole(field("f")),
        uid=whole(field("u")),
        timeout_ms=maybe_whole(field("t")),
        expires_ms=moment_ms(field("xe", ""), whole(field("c")) or entered),
        retry=field("rp", ""),
        keep_ms=maybe_whole(field("kp")),
        parent=field("pi", ""),
        parent_pool=field("pp", ""),
        parent_uid=whole(field("pu")),
        parent_name=cut(detail.parent_name, 200),
        parent_state=detail.parent_state,
        number=None if detail.order is None else detail.order + 1,
        siblings=detail.parent_parts,
        before=_beside(detail.before),
        behind=_beside(detail.behind),
        parts_open=detail.open,
        root=field("ro", ""),
        trace=field("tr", "").partition("\n")[0],
        trace_url=_trace_url(field("tr", "")),
        meta=hide.document(meta) if meta.startswith(b"{") else "",
        cancel_requested=Stored(field("x", ""), TYPED),
        next_generation=field("nx") == "1",
        attempts=task_history.attempts(lines, record),
        log=task_history.log(lines, hide),
        timeline=task_history.timeline(lines, record, state, entered, _moments_of_kinds(detail, record)),
        allowed=_allowed(detail, state),
        retried_by=retried_by(detail, state),
        phase=field("ph", ""),
        broken=broken_pools({detail.pool: detail.broken}),
        **{
            name: value
            for told in kinds.roles("details")
            for name, value in told.of_task(detail, record, state).items()
        },
        **follow_ups.of_task(detail, record),
    )


def _trace_url(stored: str) -> str:
    template, trace = conf.current().trace_url, sampled_trace(stored)
    return template.replace("{trace_id}", trace) if template and trace else ""


def _moments_of_kinds(detail: Detail, record: Mapping[str, str]) -> Iterator[Moment]:
    return (moment for told in kinds.roles("details") for moment in told.moments(detail, record))


def _beside(found: tuple[str, str, str] | None) -> Beside | None:
    return None if found is None else Beside(id=found[0], name=cut(found[1], 200), state=found[2])


def _identity(detail: Detail) -> tuple[str, str]:
    return text(detail.record.get(b"k")) or "task", text(detail.record.get(b"n"))


def _class_of(state: str) -> StateClass | None:
    return table().classes.get(state)


def _allowed(detail: Detail, state: str) -> tuple[str, ...]:
    """The actions that the state permits; without a readable record only a discard."""
    kind, _ = _identity(detail)
    verbs = allowed_verbs(kind, state, fields_of(detail))
    if b"s" not in detail.record or b"n" not in detail.record:
        return tuple(verb for verb in verbs if verb == "discard")
    if retried_by(detail, state):
        return tuple(verb for verb in verbs if verb not in RUNNING_AGAIN)
    return verbs


def _sorted(detail: Detail) -> list[tuple[str, bytes]]:
    return sorted((readable(key), value) for key, value in detail.record.items())


def _label(field: str) -> str:
    known = kinds.fields().get(field)
    return f"{field} ({known.name})" if known else field


def _raw_of_kinds() -> dict[str, Callable[[bytes, Redactor], str]]:
    """How a kind shows a field of its own with payloads, by the name in the store."""
    return {short: shown for told in kinds.roles("details") for short, shown in told.raw.items()} | {
        "fu": follow_ups.shown
    }


def _raw_value(field: str, value: bytes, hide: Redactor, names: tuple[str, ...]) -> str:
    if field == "a":
        return hide.document(value, names)
    if shown := _raw_of_kinds().get(field):
        return shown(value, hide)
    return hide.document(value) if field in ("re", "me", "er", "pv") else hide.text(readable(value))
