"""State machine: every state of a task, its class, and every allowed transition. The single source.

The Lua scripts, the consistency checker, the console's diagram, the tests and the tables in ``docs/`` follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from queueops.errors.kinds import BadKind
from queueops.model import kinds


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


CONTAINERS = kinds.CONTAINERS
"""Kinds that no worker claims: their parts have lanes, priorities and attempts, they do not."""


def actions_of(kind: str, state: State) -> tuple[str, ...]:
    """An operator's actions on a task of this kind in this state."""
    verbs = ACTIONS[state]
    return verbs if kind not in CONTAINERS else tuple(verb for verb in verbs if verb not in _OF_WHAT_IS_CLAIMED)


_OF_WHAT_IS_CLAIMED = ("edit", "priority", "move")


def states_allowing(verb: str) -> tuple[State, ...]:
    """The states that permit an operator's ``verb``."""
    return tuple(state for state, verbs in ACTIONS.items() if verb in verbs)


class PartStates(NamedTuple):
    """The states of the parts of a record that workers claim beside tasks: as the tables above."""

    word: str  # field `k` of their leases
    classes: Mapping[str, StateClass]
    transitions: Sequence[tuple[str, str, str, tuple[Actor, ...]]]
    actions: Mapping[str, tuple[str, ...]]
    retry: str  # the field of the record with the retry policy of its parts
    about: str  # a sentence for the tables in the docs

    @property
    def leased(self) -> tuple[str, ...]:
        """The states of parts that a worker holds."""
        return tuple(state for state, of in self.classes.items() if of is StateClass.LEASED)

    def allowing(self, verb: str) -> tuple[str, ...]:
        """The states of a part that permit an operator's ``verb``."""
        return tuple(state for state, verbs in self.actions.items() if verb in verbs)


def part_states() -> tuple[PartStates, ...]:
    """The states of the parts of each kind that has some."""
    return kinds.roles("part_states")


def check_kinds() -> None:
    """Raise BadKind for states of a kind that the table does not have, or that contradict it or another kind."""
    for kind in kinds.registered():
        for phase, state in kind.leased_as.items():
            if phase.partition(" ")[0] not in kind.records:
                raise BadKind(name=kind.name, reason=f"{phase!r} among its leased_as is none of its records")
            if state not in LEASED:
                raise BadKind(name=kind.name, reason=f"{state!r}, the state of {phase}, is none of {', '.join(LEASED)}")
    owners: dict[str, str] = {}
    for name, parts in zip((kind.name for kind in kinds.registered() if kind.part_states), part_states(), strict=True):
        if parts.word in owners:
            both = f"{owners[parts.word]} and {name}"
            raise BadKind(name=name, reason=f"{both} declare the states of a {parts.word}")
        owners[parts.word] = name
        if wrong := _wrong_in(parts):
            raise BadKind(name=name, reason=f"of the states of a {parts.word}, {wrong}")


def _wrong_in(parts: PartStates) -> str:
    """What contradicts itself, or the states of tasks; empty if nothing does."""
    if shared := {*parts.leased}.intersection(CLASSES).difference(LEASED):
        return f"{min(shared)} is leased, and that of a task is not"
    if unknown := {*parts.classes}.symmetric_difference(parts.actions):
        return f"{min(unknown)} stands in one of its tables alone"
    if unknown := {state for row in parts.transitions for state in row[:2]}.difference(parts.classes):
        return f"{min(unknown)} has no class"
    rows = [" ".join(row[:3]) for row in parts.transitions]
    if twice := {row for row in rows if rows.count(row) > 1}:
        return f"the transition {min(twice)} is declared twice"
    return ""


def held() -> tuple[str, ...]:
    """The states of tasks and of parts that a worker holds."""
    return tuple(dict.fromkeys((*LEASED, *(state for parts in part_states() for state in parts.leased))))


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
        *(line for parts in part_states() for line in _markdown_of(parts)),
    ]
    return "\n".join(lines) + "\n"


def _markdown_of(parts: PartStates) -> tuple[str, ...]:
    return (
        "",
        f"## {parts.word.capitalize()}s",
        "",
        parts.about,
        "",
        "| state | class | what an operator may do |",
        "|---|---|---|",
        *(f"| {state} | {of} | {', '.join(parts.actions[state])} |" for state, of in parts.classes.items()),
        "",
        "| from | to | verb | who |",
        "|---|---|---|---|",
        *(f"| {source} | {target} | {verb} | {', '.join(who)} |" for source, target, verb, who in parts.transitions),
    )


if __name__ == "__main__":
    print(as_markdown(), end="")
