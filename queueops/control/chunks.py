"""The verbs on the chunks of a map-reduce task, and beginning the task again at one of its stages.

`numbers` are at most 500 a call. Instead of them `state` names all chunks that are in it: these are done in bounded
steps, and the answer says how many were done and how many are left; but for a release and a postpone it goes on by
itself when the steps are used up. Which states allow a verb stands in `queueops.model.states.CHUNK_ACTIONS`; a task
takes its chunks up again when it has ended, or waits for its reduce. `who` goes into the task's own log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from queueops import conf
from queueops.control.per_pool_calls import GONE, MOST, places
from queueops.control.tasks import due_ms
from queueops.errors import BadOption, TooMany
from queueops.model.contracts import ChunkAnswer, Row
from queueops.model.encoding import encode_result
from queueops.model.records import Undecodable
from queueops.model.states import TERMINAL, State, chunks_allowing
from queueops.redis.broker import get_broker

TAKEN_UP = (State.AGGREGATING, *TERMINAL)
STAGES = ("map", "process", "reduce")
Numbers = Sequence[int]


def retry_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Run chunks again that failed, back off or are done, with all their attempts before them."""
    return _mend("retry", id, numbers, state, pool, who)


def postpone_chunks(
    id: str,
    numbers: Numbers = (),
    *,
    seconds: float | timedelta | None = None,
    until_ms: int | None = None,
    state: str = "",
    pool: str = "",
    who: str = "",
) -> ChunkAnswer:
    """Let errored chunks wait: their next attempt comes `seconds` from now, or at an epoch time in ms.

    Of the whole state `errored`, those that are due later than that are left as they are. Raises BadOption.
    """
    return _mend("postpone", id, numbers, state, pool, who, b"%d" % due_ms(seconds, until_ms))


def drop_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Let chunks go: the reduce gets no result of them, and finds their numbers in `self.dropped`."""
    return _mend("drop", id, numbers, state, pool, who)


def skip_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Count chunks as done without running them: their result is None."""
    return _mend("skip", id, numbers, state, pool, who)


def release_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Take running chunks from their workers, and make them ready again; a worker that goes on is refused."""
    return _mend("release", id, numbers, state, pool, who)


def speculate(id: str, numbers: Numbers, *, pool: str = "", who: str = "") -> ChunkAnswer:
    """Run chunks that take long a second time, beside the first: whichever ends well first counts."""
    return _mend("speculate", id, numbers, "", pool, who)


def edit_chunk(id: str, number: int, data: Any, *, retry: bool = False, pool: str = "", who: str = "") -> ChunkAnswer:
    """Give a chunk that does not run other data; with `retry`, run it again. Raises NotEncodable, PayloadTooLarge."""
    (wanted,) = _checked([number])
    place = _place(id, pool)
    if not place:
        return _gone()
    value = encode_result(_name(place, id), data, f"data of chunk {number}")
    return get_broker().mend_named(place, id, "redo" if retry else "edit", [wanted], value=value, who=who)


def edit_chunks(
    id: str, data: Any, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = ""
) -> ChunkAnswer:
    """Give chunks that failed, back off or are done the same other data, and run them again.

    Raises NotEncodable and PayloadTooLarge.
    """
    place = _place(id, pool)
    value = encode_result(_name(place, id), data, "data of the chunks")
    return _mend("redo", id, numbers, state, place or pool, who, value)


def set_fields(
    id: str, fields: Mapping[str, Any], numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = ""
) -> ChunkAnswer:
    """Set these fields in the data of chunks that failed, back off or are done, and run them again.

    Other fields stay as they are; one that is an object is replaced as a whole. What is no JSON object has no fields:
    such chunks are refused, and of a whole state counted as `unfit` and left as they are (those that back off run again
    without a change). The same holds for data that would be longer than it may. Raises BadOption, NotEncodable and
    PayloadTooLarge.
    """
    if not _has_fields(fields):
        raise BadOption(name="fields", value=fields, expected='an object with a field or more, such as {"host": "b"}')
    place = _place(id, pool)
    value = encode_result(_name(place, id), dict(fields), "fields for the chunks")
    limited = b"%d:%s" % (conf.current().payload_limit, value)
    return _mend("set", id, numbers, state, place or pool, who, limited)


def restart_from(id: str, stage: str, *, every: bool = False, pool: str = "", who: str = "") -> Row:
    """Begin a map-reduce task again at `map`, `process` (the failed chunks, or every one) or `reduce`.

    A running map or reduce is left alone: release or cancel it first. Raises BadOption for another stage.
    """
    if stage not in STAGES:
        raise BadOption(name="stage", value=stage, expected=f"one of {', '.join(STAGES)}")
    place = _place(id, pool)
    if not place:
        return Row(id, "GONE", "", GONE)
    states = ("failed", "errored", "done") if every else ("failed", "errored")
    return get_broker().restart_from(place, id, stage, states=states, who=who)


def reasons(verb: str, answer: ChunkAnswer) -> Iterator[tuple[int, str]]:
    """Why each refused chunk was left as it is, in words."""
    for number, state in answer.refused.items():
        if not state:
            yield number, f"the task has no chunk {number}, or its record is lost"
        elif state not in chunks_allowing(verb):
            yield number, f"{verb} is not possible while chunk {number} is {state}"
        elif verb == "set" and answer.state in TAKEN_UP:
            yield number, f"the data of chunk {number} has no fields, or would be too long"
        elif verb == "speculate" and answer.state == State.AGGREGATING:
            yield number, f"chunk {number} has a second run already"
        else:
            yield number, f"{verb} is not possible while the task is {answer.state}"


def _mend(verb: str, id: str, numbers: Numbers, state: str, pool: str, who: str, value: bytes = b"") -> ChunkAnswer:
    wanted = _checked(numbers)
    allowed = chunks_allowing(verb)
    if state and state not in allowed:
        raise BadOption(name="state", value=state, expected=f"one of {', '.join(allowed)}")
    if bool(wanted) == bool(state):
        raise BadOption(name="numbers", value=wanted[:5], expected="given, or else a state is")
    place = _place(id, pool)
    if not place:
        return _gone()
    if state:
        return get_broker().mend_all(place, id, verb, state, value=value, who=who)
    return get_broker().mend_named(place, id, verb, wanted, value=value, who=who)


def _has_fields(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(key, str) for key in value)


def _checked(numbers: Sequence[Any]) -> list[int]:
    wanted = list(dict.fromkeys(numbers))
    if len(wanted) > MOST:
        raise TooMany(count=len(wanted), what="chunks", limit=MOST)
    for number in wanted:
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise BadOption(name="numbers", value=number, expected="whole numbers from 0 on")
    return wanted


def _place(id: str, pool: str) -> str:
    """The pool that holds the task; empty when none does."""
    return next(iter(places([id], pool)), "")


def _name(pool: str, id: str) -> str:
    try:
        record = get_broker().record(pool, id)
    except Undecodable:
        return id
    return id if record is None else record.name


def _gone() -> ChunkAnswer:
    return ChunkAnswer(changed=0, left=0, state="", refused={})
