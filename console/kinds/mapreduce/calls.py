"""Chunk calls: the functions of `queueops.control` behind the actions on chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from console.kinds.mapreduce.chunk_selection import ChunkChoice
from queueops import control
from queueops.control import ChunkAnswer, Row

STAGES = {"map": ("map", False), "failed": ("process", False), "all": ("process", True), "reduce": ("reduce", False)}


def mend(verb: str, choice: ChunkChoice, who: str, **values: Any) -> ChunkAnswer:
    """Perform the verb on the selected chunks; of whole states one after the other. A postpone takes `seconds`."""
    return _each(choice, lambda **chosen: _call(verb, choice, who, **chosen, **values))


def change(choice: ChunkChoice, changed: Mapping[str, Any], who: str) -> ChunkAnswer:
    """Set `fields` in the data of the selected chunks, or replace it by `data`, and retry them."""
    verb = control.set_fields if "fields" in changed else control.edit_chunks
    (value,) = changed.values()
    return _each(choice, lambda **chosen: verb(choice.id, value, pool=choice.pool, who=who, **chosen))


def edit(choice: ChunkChoice, value: Any, who: str, *, again: bool) -> ChunkAnswer:
    """Replace the data of one chunk; with `again` retry it."""
    return control.edit_chunk(choice.id, choice.numbers[0], value, retry=again, pool=choice.pool, who=who)


def restart(ids: Sequence[str], *, pool: str, who: str, stage: str, **_: str) -> list[Row]:
    """Restart tasks from a stage."""
    name, every = STAGES[stage]
    return [control.restart_from(id, name, every=every, pool=pool, who=who) for id in ids]


def _each(choice: ChunkChoice, call: Callable[..., ChunkAnswer]) -> ChunkAnswer:
    """Call with the numbers, or with whole states one after the other."""
    if choice.numbers:
        return call(numbers=choice.numbers)
    answers = [call(state=state) for state in choice.whole]
    return ChunkAnswer(
        changed=sum(answer.changed for answer in answers),
        left=sum(answer.left for answer in answers),
        state=answers[-1].state,
        refused={},
        unfit=sum(answer.unfit for answer in answers),
    )


def _call(verb: str, choice: ChunkChoice, who: str, **chosen: Any) -> ChunkAnswer:
    call: Callable[..., ChunkAnswer] = {
        "retry": control.retry_chunks,
        "postpone": control.postpone_chunks,
        "drop": control.drop_chunks,
        "skip": control.skip_chunks,
        "release": control.release_chunks,
        "speculate": control.speculate,
    }[verb]
    return call(choice.id, pool=choice.pool, who=who, **chosen)
