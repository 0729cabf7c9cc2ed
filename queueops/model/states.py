"""State machine: every state of a task, its class, and every allowed transition. The single source.

The Lua scripts, the consistency checker, the console's diagram, the tests and the tables in ``docs/`` follow from it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """A task's state: the same word in Redis, in Python and on the screen."""

    WAITING = "waiting"
    POSTPONED = "postponed"
    PENDING = "pending"
    LOCKED = "locked"
    MAPPING = "mapping"
    REDUCING = "reducing"
    RESTART = "restart"
    IDLE = "idle"
    AGGREGATING = "aggregating"
    QUARANTINED = "quarantined"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ChunkState(StrEnum):
    """The state of one chunk of a map-reduce task."""

    PENDING = "pending"
    ACTIVE = "active"
    ERRORED = "errored"
    DONE = "done"
    FAILED = "failed"


CHUNK_STATES = tuple(str(state) for state in ChunkState)
"""The states of chunks as stored, in the order of counts."""


class StateClass(StrEnum):
    """Place of a task by its state: in a lane if ready, on the agenda if leased, timed or terminal."""

    READY = "ready"
    LEASED = "leased"
    TIMED = "timed"
    PARKED = "parked"
    TERMINAL = "terminal"


class Actor(StrEnum):
    """The component that makes a transition."""

    PRODUCER = "producer"
    WORKER = "worker"
    WATCHDOG = "watchdog"
    OPERATOR = "operator"
    COMMAND = "command"


CLASSES: dict[State, StateClass] = {
    State.PENDING: StateClass.READY,
    State.LOCKED: StateClass.LEASED,
    State.MAPPING: StateClass.LEASED,
    State.REDUCING: StateClass.LEASED,
    State.POSTPONED: StateClass.TIMED,
    State.RESTART: StateClass.TIMED,
    State.WAITING: StateClass.PARKED,
    State.IDLE: StateClass.PARKED,
    State.AGGREGATING: StateClass.PARKED,
    State.QUARANTINED: StateClass.PARKED,
    State.SUCCEEDED: StateClass.TERMINAL,
    State.FAILED: StateClass.TERMINAL,
    State.CANCELLED: StateClass.TERMINAL,
}

CHUNK_CLASSES: dict[ChunkState, StateClass] = {
    ChunkState.PENDING: StateClass.READY,
    ChunkState.ACTIVE: StateClass.LEASED,
    ChunkState.ERRORED: StateClass.TIMED,
    ChunkState.DONE: StateClass.TERMINAL,
    ChunkState.FAILED: StateClass.TERMINAL,
}


def states_of(state_class: StateClass) -> tuple[State, ...]:
    """The states of one class, in the order in which a task passes through them."""
    return tuple(state for state in State if CLASSES[state] is state_class)


READY = states_of(StateClass.READY)
LEASED = states_of(StateClass.LEASED)
TIMED = states_of(StateClass.TIMED)
PARKED = states_of(StateClass.PARKED)
TERMINAL = states_of(StateClass.TERMINAL)
ON_AGENDA = LEASED + TIMED + TERMINAL
"""States whose tasks have an entry on the agenda: the end of a lease, a delay or a retention."""


class Transition(NamedTuple):
    """One allowed change of state. ``source`` None: the task is created. ``target`` None: it is deleted."""

    source: State | None
    target: State | None
    verb: str
    actors: tuple[Actor, ...]


def _each(sources: tuple[State | None, ...], target: State | None, verb: str, *actors: Actor) -> list[Transition]:
    return [Transition(source, target, verb, actors) for source in sources]


_P, _W, _D, _O = Actor.PRODUCER, Actor.WORKER, Actor.WATCHDOG, Actor.OPERATOR
_C = Actor.COMMAND
_ANY_ACTOR = (_P, _W, _D, _O, _C)
_S = State
_RUNNING = LEASED
_AT_REST = (_S.WAITING, _S.PENDING, _S.POSTPONED, _S.RESTART, _S.AGGREGATING, _S.IDLE)
_REPLACEABLE = (_S.PENDING, _S.POSTPONED, _S.RESTART, _S.AGGREGATING, *_RUNNING, *TERMINAL)

TRANSITIONS: tuple[Transition, ...] = (
    Transition(None, _S.PENDING, "push", (_P,)),
    Transition(None, _S.POSTPONED, "postpone", (_P,)),
    *_each(_REPLACEABLE, _S.PENDING, "push", _P),
    *_each(_REPLACEABLE, _S.POSTPONED, "postpone", _P),
    *(Transition(_S.PENDING, state, "claim", (_W,)) for state in _RUNNING),
    *_each((_S.POSTPONED, _S.RESTART), _S.PENDING, "promote", _W, _D),
    Transition(_S.LOCKED, _S.SUCCEEDED, "settle", (_W,)),
    Transition(_S.REDUCING, _S.SUCCEEDED, "settle", (_W,)),
    Transition(_S.MAPPING, _S.AGGREGATING, "settle", (_W,)),
    *_each(_RUNNING, _S.FAILED, "settle", _W),
    Transition(_S.LOCKED, _S.IDLE, "settle", (_W,)),
    Transition(_S.IDLE, _S.PENDING, "activate", _ANY_ACTOR),
    *_each(_RUNNING, _S.CANCELLED, "settle", _W, _D),
    *_each(_RUNNING, _S.RESTART, "settle", _W),
    *_each(_RUNNING, _S.POSTPONED, "settle", _W),
    *_each(_RUNNING, _S.PENDING, "release", _W, _D, _O),
    *_each(_RUNNING, _S.RESTART, "recover", _D),
    *_each(_RUNNING, _S.FAILED, "recover", _D),
    *_each((None, *TERMINAL), _S.WAITING, "push", _P),
    *(Transition(_S.WAITING, state, "activate", _ANY_ACTOR) for state in (_S.PENDING, _S.POSTPONED, _S.IDLE)),
    *_each((_S.POSTPONED, _S.RESTART), _S.IDLE, "promote", _W, _D),
    Transition(_S.PENDING, _S.IDLE, "suspend", (_P, _O)),
    *(Transition(_S.IDLE, state, "gather", (_W, _D, _O, _C)) for state in (_S.SUCCEEDED, _S.FAILED)),
    *_each((_S.PENDING, _S.POSTPONED, _S.RESTART), _S.FAILED, "gather", _W, _D, _O, _C),
    Transition(_S.WAITING, None, "discard", (_P, _W, _D, _C)),
    Transition(_S.AGGREGATING, _S.PENDING, "gather", (_W, _D, _O)),
    Transition(_S.AGGREGATING, _S.FAILED, "gather", (_W, _D, _O)),
    *_each((*_AT_REST, *_RUNNING), _S.QUARANTINED, "quarantine", _W, _D),
    *_each((_S.POSTPONED, _S.RESTART), _S.PENDING, "run_now", _O),
    Transition(_S.POSTPONED, _S.IDLE, "run_now", (_O,)),
    *_each((_S.RESTART, *TERMINAL), _S.PENDING, "retry", _O),
    *_each(TERMINAL, _S.IDLE, "retry", _O),
    *_each(TERMINAL, _S.WAITING, "retry", *_ANY_ACTOR),
    *(Transition(_S.CANCELLED, state, "reinstate", (_O,)) for state in (_S.PENDING, _S.POSTPONED)),
    *_each((*TERMINAL, _S.PENDING, _S.POSTPONED, _S.RESTART), _S.AGGREGATING, "reprocess", _O),
    *_each((_S.AGGREGATING, _S.PENDING, _S.POSTPONED), _S.PENDING, "remap", _O),
    *_each((_S.PENDING, _S.POSTPONED, _S.RESTART), _S.POSTPONED, "postpone", _O),
    *_each(_AT_REST, _S.CANCELLED, "cancel", _W, _D, _O, _C),
    Transition(_S.QUARANTINED, _S.PENDING, "requeue", (_O,)),
    Transition(_S.QUARANTINED, None, "discard", (_O,)),
    *_each(TERMINAL, None, "expire", _D),
    *_each(TERMINAL, None, "delete", _O),
    *(Transition(None, state, "restore", (_O,)) for state in TERMINAL),
)

_K = ChunkState
CHUNK_TRANSITIONS: tuple[tuple[ChunkState, ChunkState, str, tuple[Actor, ...]], ...] = (
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

CHUNK_ACTIONS: dict[ChunkState, tuple[str, ...]] = {
    ChunkState.PENDING: ("drop", "skip", "edit"),
    ChunkState.ACTIVE: ("release", "speculate"),
    ChunkState.ERRORED: ("retry", "postpone", "drop", "skip", "edit", "redo", "set"),
    ChunkState.DONE: ("retry", "redo", "set"),
    ChunkState.FAILED: ("retry", "drop", "skip", "edit", "redo", "set"),
}
"""An operator's actions on a chunk in each state.

``redo`` is an edit and a retry in one. ``set`` is the same for some fields of data that is a JSON object.
"""

CLAIMED_AS: dict[str, State] = {"mapreduce": State.MAPPING, "mapreduce reduce": State.REDUCING}
"""The leased state of a kind's phase, if it is not ``locked``."""

FLOWS: frozenset[tuple[str, str]] = frozenset(
    (transition.source or "", transition.target or "") for transition in TRANSITIONS
)
"""Every allowed (source, target); an empty string stands for a task that does not exist."""

ACTIONS: dict[State, tuple[str, ...]] = {
    State.WAITING: ("cancel",),
    State.POSTPONED: ("run_now", "postpone", "edit", "priority", "move", "cancel"),
    State.PENDING: ("postpone", "edit", "priority", "move", "cancel"),
    State.LOCKED: ("cancel", "release"),
    State.MAPPING: ("cancel", "release"),
    State.REDUCING: ("cancel", "release"),
    State.RESTART: ("retry", "run_now", "postpone", "edit", "priority", "move", "cancel"),
    State.IDLE: ("cancel",),
    State.AGGREGATING: ("cancel",),
    State.QUARANTINED: ("requeue", "discard"),
    State.SUCCEEDED: ("retry", "edit", "keep", "delete"),
    State.FAILED: ("retry", "edit", "keep", "delete"),
    State.CANCELLED: ("reinstate", "retry", "edit", "keep", "delete"),
}
"""An operator's actions on a task in each state; every other action is refused with the reason."""


CONTAINERS = ("chain", "group")
"""Kinds that no worker claims: their parts have lanes, priorities and attempts, they do not."""


def actions_of(kind: str, state: State) -> tuple[str, ...]:
    """An operator's actions on a task of this kind in this state."""
    verbs = ACTIONS[state]
    return verbs if kind not in CONTAINERS else tuple(verb for verb in verbs if verb not in _OF_WHAT_IS_CLAIMED)


_OF_WHAT_IS_CLAIMED = ("edit", "priority", "move")


def states_allowing(verb: str) -> tuple[State, ...]:
    """The states that permit an operator's ``verb``."""
    return tuple(state for state, verbs in ACTIONS.items() if verb in verbs)


def chunks_allowing(verb: str) -> tuple[ChunkState, ...]:
    """The states of a chunk that permit an operator's ``verb``."""
    return tuple(state for state, verbs in CHUNK_ACTIONS.items() if verb in verbs)


def as_markdown() -> str:
    """The tables of ``docs/states.md``: `python -m queueops.model.states > docs/states.md` regenerates them."""
    lines = [
        "# States",
        "",
        "Generated from `queueops/model/states.py`, where the rules stand. A task is in exactly one state.",
        "",
        "| state | class | what an operator may do |",
        "|---|---|---|",
        *(f"| {state} | {CLASSES[state]} | {', '.join(ACTIONS[state])} |" for state in State),
        "",
        "A ready task stands in a lane. A leased, timed or terminal task has an entry on the agenda: the end of its",
        "lease, delay or retention. A parked task waits for something else.",
        "",
        "| from | to | verb | who |",
        "|---|---|---|---|",
        *(f"| {t.source or '-'} | {t.target or '-'} | {t.verb} | {', '.join(t.actors)} |" for t in TRANSITIONS),
        "",
        "## Chunks",
        "",
        "The parts of a map-reduce task have states of their own ([how that works](mapreduce.md)).",
        "",
        "| state | class | what an operator may do |",
        "|---|---|---|",
        *(f"| {state} | {CHUNK_CLASSES[state]} | {', '.join(CHUNK_ACTIONS[state])} |" for state in ChunkState),
        "",
        "| from | to | verb | who |",
        "|---|---|---|---|",
        *(f"| {source} | {target} | {verb} | {', '.join(who)} |" for source, target, verb, who in CHUNK_TRANSITIONS),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
