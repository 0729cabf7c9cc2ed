"""States of map-reduce tasks and of their chunks: classes, transitions, and what an operator may do.

They are the single source: the table of all states, the library and the docs have them from here.
"""

from __future__ import annotations

from enum import StrEnum

from queueops.model.state_types import Actor, KindStates, PartStates, StateClass

MAPPING, REDUCING, AGGREGATING = "mapping", "reducing", "aggregating"
"""States of a map-reduce task: a worker runs its map, a worker runs its reduce, it waits for its chunks."""

_P, _W, _D, _O = Actor.PRODUCER, Actor.WORKER, Actor.WATCHDOG, Actor.OPERATOR
_BEFORE = ("pending", "postponed", "restart")
_ENDED = ("succeeded", "failed", "cancelled")

STATES = KindStates(
    classes={MAPPING: StateClass.LEASED, REDUCING: StateClass.LEASED, AGGREGATING: StateClass.PARKED},
    actions={MAPPING: ("cancel", "release"), REDUCING: ("cancel", "release"), AGGREGATING: ("cancel",)},
    verbs=("reprocess", "remap"),
    leased_as={"mapreduce": MAPPING, "mapreduce reduce": REDUCING},
    transitions=(
        (AGGREGATING, "pending", "push", (_P,)),
        (AGGREGATING, "postponed", "postpone", (_P,)),
        (MAPPING, AGGREGATING, "settle", (_W,)),
        (AGGREGATING, "pending", "gather", (_W, _D, _O)),
        (AGGREGATING, "failed", "gather", (_W, _D, _O)),
        (REDUCING, "succeeded", "settle", (_W,)),
        *((state, AGGREGATING, "reprocess", (_O,)) for state in (*_ENDED, *_BEFORE)),
        *((state, "pending", "remap", (_O,)) for state in (AGGREGATING, "pending", "postponed")),
    ),
)


class ChunkState(StrEnum):
    """The state of one chunk of a map-reduce task."""

    PENDING = "pending"
    ACTIVE = "active"
    ERRORED = "errored"
    DONE = "done"
    FAILED = "failed"


CHUNK_STATES = tuple(str(state) for state in ChunkState)
"""The states of chunks as stored, in the order of counts."""

CHUNK_CLASSES: dict[str, StateClass] = {
    ChunkState.PENDING: StateClass.READY,
    ChunkState.ACTIVE: StateClass.LEASED,
    ChunkState.ERRORED: StateClass.TIMED,
    ChunkState.DONE: StateClass.TERMINAL,
    ChunkState.FAILED: StateClass.TERMINAL,
}

_K = ChunkState
CHUNK_TRANSITIONS: tuple[tuple[str, str, str, tuple[Actor, ...]], ...] = (
    (_K.PENDING, _K.ACTIVE, "claim", (_W,)),
    (_K.ACTIVE, _K.DONE, "settle", (_W,)),
    (_K.ACTIVE, _K.ERRORED, "settle", (_W, _D)),
    (_K.ACTIVE, _K.FAILED, "settle", (_W, _D)),
    (_K.ACTIVE, _K.PENDING, "release", (_W, _O)),
    (_K.ERRORED, _K.PENDING, "promote", (_W, _D)),
    *((state, _K.DONE, "second run", (_W,)) for state in (_K.PENDING, _K.ERRORED)),
    *((state, _K.PENDING, "retry", (_O,)) for state in (_K.ERRORED, _K.FAILED, _K.DONE)),
    (_K.ERRORED, _K.ERRORED, "postpone", (_O,)),
    *((state, _K.FAILED, "drop", (_O,)) for state in (_K.PENDING, _K.ERRORED)),
    *((state, _K.DONE, "skip", (_O,)) for state in (_K.PENDING, _K.ERRORED, _K.FAILED)),
    *((state, _K.FAILED, "lose", (_W, _D)) for state in (_K.PENDING, _K.ERRORED, _K.DONE)),
)
"""Every transition of a chunk. A lost chunk has no record any more, and counts as failed."""

CHUNK_ACTIONS: dict[str, tuple[str, ...]] = {
    ChunkState.PENDING: ("drop", "skip", "edit"),
    ChunkState.ACTIVE: ("release", "speculate"),
    ChunkState.ERRORED: ("retry", "postpone", "drop", "skip", "edit", "redo", "set"),
    ChunkState.DONE: ("retry", "redo", "set"),
    ChunkState.FAILED: ("retry", "drop", "skip", "edit", "redo", "set"),
}
"""An operator's actions on a chunk in each state.

``redo`` is an edit and a retry in one. ``set`` is the same for some fields of data that is a JSON object.
"""

CHUNKS = PartStates(
    word="chunk",
    classes=CHUNK_CLASSES,
    transitions=CHUNK_TRANSITIONS,
    actions=CHUNK_ACTIONS,
    retry="xp",
    about="The parts of a map-reduce task have states of their own ([how that works](mapreduce.md)).",
)
