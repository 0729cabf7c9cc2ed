"""Task history: attempts, log lines and changes of state, parsed from its log and record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import structs

from queueops.inspect.answers import Answer
from queueops.inspect.errors import Failure, read_failure, title
from queueops.model import kinds
from queueops.model.redact import Redactor, cut, readable
from queueops.model.sentences import Sentence, join, say
from queueops.model.states import CONTAINERS, TERMINAL, State, table
from queueops.model.stored_sentences import TYPED, StateWord, Stored, VerbWord
from queueops.redis.query_replies import maybe_whole, read_object, whole

Line = Mapping[str, Any]

LONGEST_LINE = 4000
FAILURES = ("error", "crash")
"""Log lines of attempts that failed."""
BY_ENGINE = ("crash", "restart", "mapped", "gathered", "second run")
"""Log lines of the engine: they quote no value of a task."""


class Attempt(Answer, frozen=True, kw_only=True):
    """One run of a task: an ended run, or the present run (`ended_ms` is None)."""

    number: int
    begun_ms: int | None
    ended_ms: int | None
    worker: str
    kind: str  # error, timeout, crash, release, restart, cancelled, succeeded, running
    error: Failure | None = None


class LogLine(Answer, frozen=True, kw_only=True):
    """A line of the task's own log."""

    TEXTS: ClassVar = ("text",)

    t: int
    kind: str
    text: str


class Moment(Answer, frozen=True, kw_only=True):
    """A change of state, for the timeline."""

    TEXTS: ClassVar = ("text",)

    t: int
    state: str
    text: str


def read_lines(log: Iterable[bytes]) -> list[Line]:
    """The lines of a task's log; an unreadable line is kept as text."""
    return [_line(data) for data in log]


def attempts(lines: Iterable[Line], record: Mapping[str, str]) -> tuple[Attempt, ...]:
    """Each run that failed, and the last run, oldest first."""
    found = [attempt for line in lines if (attempt := _attempt(line)) is not None]
    last = _last_attempt(record)
    if last is not None and not (record.get("s") == State.CANCELLED and last.begun_ms in (a.begun_ms for a in found)):
        found.append(last)
    return tuple(found)


def run_in(record: Mapping[str, str], kind: str) -> Attempt | None:
    """The run in the record of a task or a chunk; None if it has not begun."""
    begun = maybe_whole(record.get("b"))
    if begun is None:
        return None
    return Attempt(
        number=whole(record.get("at")) + 1,
        begun_ms=begun,
        ended_ms=None if kind == "running" else maybe_whole(record.get("e")),
        worker=record.get("w", ""),
        kind=kind,
    )


def log(lines: Iterable[Line], hide: Redactor) -> tuple[LogLine, ...]:
    """The log as text, oldest first."""
    return tuple(
        LogLine(t=whole(line.get("t")), kind=_kind(line), text=cut(_text(line, hide), LONGEST_LINE)) for line in lines
    )


def timeline(
    lines: Sequence[Line], record: Mapping[str, str], state: str, entered_ms: int, others: Iterable[Moment] = ()
) -> tuple[Moment, ...]:
    """The known changes of state, oldest first; the last is the present state. ``others``: those that a kind tells."""
    created = whole(record.get("c")) or (entered_ms if record else 0)
    moments = [Moment(t=created, state="", text=say("pushed"))] if created else []
    kind = record.get("k", "task")
    for line in lines:
        _correct(moments, line)
        moments += _moments(line, _leased(kind, str(line.get("phase") or "")))
    moments += others
    begun = maybe_whole(record.get("b"))
    if begun is not None and kind in CONTAINERS:
        moments.append(Moment(t=begun, state=State.IDLE, text=say("its parts begin")))
    elif begun is not None and not any(_tells_of_start(line, begun, state) for line in lines):
        moments.append(Moment(t=begun, state=_leased(kind, record.get("ph", "")), text=_claimed(record.get("w"))))
    return tuple(_ending(sorted(moments, key=_time), state, entered_ms, record.get("y", "")))


def _tells_of_start(line: Line, begun: int, state: str) -> bool:
    """Whether a line of the log tells of the last start."""
    kind = _kind(line)
    of_failure = kind in FAILURES and not _is_behind_failures(state)
    return maybe_whole(line.get("begun")) == begun and (of_failure or kind in _entered())


def _is_behind_failures(state: str) -> bool:
    """Whether a task in this state started after its last failure, which can be in the same millisecond.

    In other states it cannot be told: the failure stands for the start of that millisecond.
    """
    return _is_leased(state) or state == State.SUCCEEDED


def _ending(moments: list[Moment], state: str, entered_ms: int, reason: str) -> list[Moment]:
    """Put the present state last; the log line of that time gives the reason."""
    moments = [moment for moment in moments if moment.t <= (entered_ms or moment.t)]
    told = [place for place, moment in enumerate(moments) if _is_entry(moment, state, entered_ms)][-1:]
    text = moments[told[0]].text if told else Stored(reason, TYPED if state == State.CANCELLED else "")
    before = [moment for place, moment in enumerate(moments) if place not in told]
    return [*before, Moment(t=entered_ms, state=state, text=text)]


def _is_entry(moment: Moment, state: str, entered_ms: int) -> bool:
    of_failure = moment.state == State.RESTART and not _is_behind_failures(state)
    return moment.t == entered_ms and (moment.state == state or of_failure)


def _time(moment: Moment) -> int:
    return moment.t


def _line(data: bytes) -> Line:
    found = read_object(data)
    return {"k": "unreadable", "text": readable(data)} if found is None else found


def _kind(line: Line) -> str:
    return str(line.get("k") or "log")


# Attempts


def _attempt(line: Line) -> Attempt | None:
    kind = _kind(line)
    if kind not in ("error", "crash", "restart"):
        return None
    reason = Failure(type="Crash", message=str(line.get("text") or "")) if kind == "crash" else None
    return Attempt(
        number=whole(line.get("attempt") or line.get("crash")),
        begun_ms=maybe_whole(line.get("begun")),
        ended_ms=maybe_whole(line.get("t")),
        worker=str(line.get("worker") or ""),
        kind=kind,
        error=_failure(line) if kind == "error" else reason,
    )


def _failure(line: Line) -> Failure | None:
    return read_failure(str(line.get("error") or "").encode("utf-8", "replace"))


def _last_attempt(record: Mapping[str, str]) -> Attempt | None:
    """The run in the record: under way, or ended."""
    state = record.get("s", "")
    leased = _is_leased(state)
    if record.get("k") in CONTAINERS or not (leased or state in (State.SUCCEEDED, State.CANCELLED)):
        return None
    return run_in(record, "running" if leased else state)


# The text of a line, and what it says of the state


def _text(line: Line, hide: Redactor) -> str:
    kind = _kind(line)
    if kind == "error":
        return title(_failure(line))
    if kind == "operator":
        return _operator(line, hide)
    if kind == "edit":
        return say("the arguments were (%(call)s)", call=hide.call(str(line.get("was") or "[[],{}]").encode()))
    said = str(line.get("text") or "")
    return Stored(said if kind in BY_ENGINE else hide.words_of_task(said), TYPED if kind == "log" else "")


def _operator(line: Line, hide: Redactor) -> str:
    who, verb, value = (str(line.get(field) or "") for field in ("who", "verb", "value"))
    if verb in ("edit", "retry") and value:
        value = "" if value == "-" else hide.call(value.encode())
    elif not value.isdigit():
        value = hide.words_of_task(value)
    if reason := str(line.get("text") or ""):
        value = ": ".join(filter(None, (value, hide.words_of_task(reason))))
    before = say(", it was %(state)s", state=StateWord(line["from"])) if line.get("from") else ""
    return join(_acted(who, verb), f" ({cut(value, 200)})" if value else "", before, by="")


def _leased(kind: str, phase: str) -> State:
    """The state in which a worker holds a task of this kind, in this phase."""
    return State(kinds.leased_as().get(f"{kind} {phase}".strip(), State.LOCKED))


def _is_leased(state: str) -> bool:
    return state in table().leased


@kinds.cached
def _entered() -> dict[str, str]:
    """The states that kinds tell of their log lines, and of actions whose line does not name the state."""
    return {word: state for details in kinds.roles("details") for word, state in details.entered.items()}


def _moments(line: Line, leased: State) -> list[Moment]:
    t, kind, begun = whole(line.get("t")), _kind(line), maybe_whole(line.get("begun"))
    found = []
    told = _entered().get(kind)
    if begun is not None and (told or kind in FAILURES):
        found.append(Moment(t=begun, state=leased, text=_claimed(line.get("worker"))))
    if kind == "error":
        found.append(Moment(t=t, state=State.RESTART, text=title(_failure(line))))
    elif kind == "crash":
        reason = Stored(str(line.get("text") or ""))
        found.append(Moment(t=t, state=State.RESTART, text=say("crashed: %(reason)s", reason=reason)))
    elif kind == "restart":
        text: str = Stored(str(line.get("text") or "").strip()) or say("restarted itself")
        found.append(Moment(t=t, state=State.POSTPONED, text=text))
    elif kind == "operator":
        found.append(_operated(line, t))
    elif told:
        found.append(Moment(t=t, state=told, text=Stored(str(line.get("text") or ""))))
    return found


def _correct(moments: list[Moment], line: Line) -> None:
    """An attempt's line does not say whether it was the last. An operator's line has the state that the task was in."""
    before = str(line.get("from") or "")
    if moments and moments[-1].state == State.RESTART and before in TERMINAL:
        moments[-1] = structs.replace(moments[-1], state=before)


def _operated(line: Line, t: int) -> Moment:
    verb, before = str(line.get("verb") or ""), str(line.get("from") or "")
    state = str(line.get("to") or _entered().get(verb, before))
    return Moment(t=t, state=state, text=_acted(str(line.get("who") or ""), verb))


def _acted(who: str, verb: str) -> Sentence:
    return join(who or say("an operator"), VerbWord(verb), by=": ")


def _claimed(worker: object) -> Sentence:
    return say("claimed by %(worker)s", worker=str(worker)) if worker else say("claimed")
