"""Actions on the chunks of a map-reduce task, and its restart from a stage.

`numbers` are at most 500 a call. Instead of them `state` names all chunks in that state. These are changed in bounded
steps, and the answer says how many were changed and how many are left. When the steps are used up, the store continues
by itself, except for a release and a postpone. The states that allow an action are those of
`queueops.kinds.mapreduce.states.CHUNK_ACTIONS`. A task that has ended, or waits for its reduce, processes its chunks
again after a retry, drop or skip.
`who` goes into the task's own log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from queueops import conf
from queueops.control.per_pool_calls import GONE, MOST, place_of
from queueops.control.tasks import due_ms
from queueops.errors import BadOption, TooMany
from queueops.kinds.mapreduce.contracts import ChunkAnswer
from queueops.kinds.mapreduce.states import AGGREGATING, CHUNKS
from queueops.kinds.mapreduce.store import MapReduceCalls
from queueops.model.contracts import Row
from queueops.model.records import Undecodable
from queueops.model.states import TERMINAL
from queueops.redis.broker import get_broker, get_role
from queueops.tasks.encoding import encode_result

__all__ = [
    "ChunkAnswer",
    "drop_chunks",
    "edit_chunk",
    "edit_chunks",
    "postpone_chunks",
    "reasons",
    "release_chunks",
    "restart_from",
    "retry_chunks",
    "set_fields",
    "skip_chunks",
    "speculate",
]

TAKEN_UP = (AGGREGATING, *TERMINAL)
STAGES = ("map", "process", "reduce")
Numbers = Sequence[int]


def retry_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Retry chunks that failed, are in back-off or done; their attempts count from zero."""
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
    """Postpone errored chunks: their next attempt comes `seconds` from now, or at an epoch time in ms.

    With the whole state `errored`, chunks that are due later are left as they are. Raises BadOption.
    """
    return _mend("postpone", id, numbers, state, pool, who, b"%d" % due_ms(seconds, until_ms))


def drop_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Drop chunks: the reduce gets no result of them, and finds their numbers in `self.dropped`."""
    return _mend("drop", id, numbers, state, pool, who)


def skip_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Skip chunks: they count as done without a run, with the result None."""
    return _mend("skip", id, numbers, state, pool, who)


def release_chunks(id: str, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = "") -> ChunkAnswer:
    """Release running chunks from their workers: they are ready again. The old worker can no longer settle them."""
    return _mend("release", id, numbers, state, pool, who)


def speculate(id: str, numbers: Numbers, *, pool: str = "", who: str = "") -> ChunkAnswer:
    """Start a second run of slow chunks, beside the first: the first run that succeeds counts."""
    return _mend("speculate", id, numbers, "", pool, who)


def edit_chunk(id: str, number: int, data: Any, *, retry: bool = False, pool: str = "", who: str = "") -> ChunkAnswer:
    """Replace the data of a chunk that is not running; with `retry`, retry it. Raises NotEncodable, PayloadTooLarge."""
    (wanted,) = _checked([number])
    place = place_of(id, pool)
    if not place:
        return _gone()
    value = encode_result(_name(id, place), data, f"data of chunk {number}")
    return get_role(MapReduceCalls).mend_named(place, id, "redo" if retry else "edit", [wanted], value=value, who=who)


def edit_chunks(
    id: str, data: Any, numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = ""
) -> ChunkAnswer:
    """Replace the data of chunks that failed, are in back-off or done by the same value, and retry them.

    Raises NotEncodable and PayloadTooLarge.
    """
    value = encode_result(_name(id, pool), data, "data of the chunks")
    return _mend("redo", id, numbers, state, pool, who, value)


def set_fields(
    id: str, fields: Mapping[str, Any], numbers: Numbers = (), *, state: str = "", pool: str = "", who: str = ""
) -> ChunkAnswer:
    """Set fields in the data of chunks that failed, are in back-off or done, and retry them.

    Other fields stay as they are; a field with an object is replaced as a whole. Data that is not a JSON object has no
    fields: such chunks are refused. With a whole state they are counted as `unfit` and left as they are. Those in
    back-off run again without a change. The same holds for data that would be too large. Raises BadOption, NotEncodable
    and PayloadTooLarge.
    """
    if not _has_fields(fields):
        raise BadOption(name="fields", value=fields, expected='an object with a field or more, such as {"host": "b"}')
    if conf.current().encryption:
        expected = "left out: the store cannot change fields of encrypted data. Edit each chunk instead"
        raise BadOption(name="fields", value="fields", expected=expected)
    value = encode_result(_name(id, pool), dict(fields), "fields for the chunks")
    limited = b"%d:%s" % (conf.current().payload_limit, value)
    return _mend("set", id, numbers, state, pool, who, limited)


def restart_from(id: str, stage: str, *, every: bool = False, pool: str = "", who: str = "") -> Row:
    """Restart a map-reduce task from `map`, `process` (failed chunks, or all) or `reduce`.

    A running map or reduce is not changed: release or cancel it first. Raises BadOption for another stage.
    """
    if stage not in STAGES:
        raise BadOption(name="stage", value=stage, expected=f"one of {', '.join(STAGES)}")
    place = place_of(id, pool)
    if not place:
        return Row(id, "GONE", "", GONE)
    states = ("failed", "errored", "done") if every else ("failed", "errored")
    return get_role(MapReduceCalls).restart_from(place, id, stage, states=states, who=who)


def reasons(verb: str, answer: ChunkAnswer) -> Iterator[tuple[int, str]]:
    """The reason for each refused chunk, in words."""
    for number, state in answer.refused.items():
        if not state:
            yield number, f"the task has no chunk {number}, or its record is lost"
        elif state not in CHUNKS.allowing(verb):
            yield number, f"{verb} is not possible while chunk {number} is {state}"
        elif verb == "set" and answer.state in TAKEN_UP:
            yield number, f"the data of chunk {number} has no fields, or would be too long"
        elif verb == "speculate" and answer.state == AGGREGATING:
            yield number, f"chunk {number} has a second run already"
        else:
            yield number, f"{verb} is not possible while the task is {answer.state}"


def _mend(verb: str, id: str, numbers: Numbers, state: str, pool: str, who: str, value: bytes = b"") -> ChunkAnswer:
    wanted = _checked(numbers)
    allowed = CHUNKS.allowing(verb)
    if state and state not in allowed:
        raise BadOption(name="state", value=state, expected=f"one of {', '.join(allowed)}")
    if bool(wanted) == bool(state):
        raise BadOption(name="numbers", value=wanted[:5], expected="given, or else a state is")
    place = place_of(id, pool)
    if not place:
        return _gone()
    if state:
        return get_role(MapReduceCalls).mend_all(place, id, verb, state, value=value, who=who)
    return get_role(MapReduceCalls).mend_named(place, id, verb, wanted, value=value, who=who)


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


def _name(id: str, pool: str) -> str:
    """The name of a task, for an error; its id if it has none."""
    try:
        record = get_broker().record(place_of(id, pool), id)
    except Undecodable:
        return id
    return id if record is None else record.name


def _gone() -> ChunkAnswer:
    return ChunkAnswer(changed=0, left=0, state="", refused={})
