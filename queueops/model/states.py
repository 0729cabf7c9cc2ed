"""State machine: every state of a task, its class, and every allowed transition. The single source.

The kernel's states stand here. A kind adds its own by its role ``states``. `table` is the sum. The Lua scripts, the
consistency checker, the console's diagram, the tests and the tables in ``docs/`` follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from queueops.errors.kinds import BadKind
from queueops.model import kinds
from queueops.model.kind import Kind
from queueops.model.kinds import KINDS
from queueops.model.state_checks import KERNEL, wrong_beside_kernel, wrong_in_parts, wrong_in_states
from queueops.model.state_types import OWN_CLASSES, KindStates, PartStates
from queueops.model.state_types import Actor as Actor
from queueops.model.state_types import StateClass as StateClass


class State(StrEnum):
    """A task's state: the same word in Redis, in Python and on the screen.

    The members are the states that every task can have. ``State(word)`` gives the states of kinds, too.
    """

    WAITING = "waiting"
    POSTPONED = "postponed"
    PENDING = "pending"
    LOCKED = "locked"
    RESTART = "restart"
    IDLE = "idle"
    QUARANTINED = "quarantined"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @classmethod
    def _missing_(cls, value: object) -> State | None:
        return next((state for state in table().states if state == value), None)


_CLASSES: dict[State, StateClass] = {
    State.PENDING: StateClass.READY,
    State.LOCKED: StateClass.LEASED,
    State.POSTPONED: StateClass.TIMED,
    State.RESTART: StateClass.TIMED,
    State.WAITING: StateClass.PARKED,
    State.IDLE: StateClass.PARKED,
    State.QUARANTINED: StateClass.PARKED,
    State.SUCCEEDED: StateClass.TERMINAL,
    State.FAILED: StateClass.TERMINAL,
    State.CANCELLED: StateClass.TERMINAL,
}


def _of_class(state_class: StateClass) -> tuple[State, ...]:
    return tuple(state for state in State if _CLASSES[state] is state_class)


TIMED = _of_class(StateClass.TIMED)
TERMINAL = _of_class(StateClass.TERMINAL)
FINISHED = "finished"
"""All states in which a task has ended, as one state of a filter."""


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


def _transitions(running: tuple[State, ...], parked: tuple[State, ...]) -> tuple[Transition, ...]:
    """The kernel's transitions of its states, of all leased ones, and of the ``parked`` ones of kinds."""
    at_rest = (_S.WAITING, _S.PENDING, _S.POSTPONED, _S.RESTART, *parked, _S.IDLE)
    replaceable = (_S.PENDING, _S.POSTPONED, _S.RESTART, *running, *TERMINAL)
    return (
        Transition(None, _S.PENDING, "push", (_P,)),
        Transition(None, _S.POSTPONED, "postpone", (_P,)),
        *_each(replaceable, _S.PENDING, "push", _P),
        *_each(replaceable, _S.POSTPONED, "postpone", _P),
        *(Transition(_S.PENDING, state, "claim", (_W,)) for state in running),
        *_each((_S.POSTPONED, _S.RESTART), _S.PENDING, "promote", _W, _D),
        Transition(_S.LOCKED, _S.SUCCEEDED, "settle", (_W,)),
        *_each(running, _S.FAILED, "settle", _W),
        Transition(_S.LOCKED, _S.IDLE, "settle", (_W,)),
        Transition(_S.IDLE, _S.PENDING, "activate", _ANY_ACTOR),
        *_each(running, _S.CANCELLED, "settle", _W, _D),
        *_each(running, _S.RESTART, "settle", _W),
        *_each(running, _S.POSTPONED, "settle", _W),
        *_each(running, _S.PENDING, "release", _W, _D, _O),
        *_each(running, _S.RESTART, "recover", _D),
        *_each(running, _S.FAILED, "recover", _D),
        *_each((None, *TERMINAL), _S.WAITING, "push", _P),
        *(Transition(_S.WAITING, state, "activate", _ANY_ACTOR) for state in (_S.PENDING, _S.POSTPONED, _S.IDLE)),
        *_each((_S.POSTPONED, _S.RESTART), _S.IDLE, "promote", _W, _D),
        Transition(_S.PENDING, _S.IDLE, "suspend", (_P, _O)),
        *(Transition(_S.IDLE, state, "gather", (_W, _D, _O, _C)) for state in (_S.SUCCEEDED, _S.FAILED)),
        *_each((_S.PENDING, _S.POSTPONED, _S.RESTART), _S.FAILED, "gather", _W, _D, _O, _C),
        Transition(_S.WAITING, None, "discard", (_P, _W, _D, _C)),
        *_each((*at_rest, *running), _S.QUARANTINED, "quarantine", _W, _D),
        *_each((_S.POSTPONED, _S.RESTART), _S.PENDING, "run_now", _O),
        Transition(_S.POSTPONED, _S.IDLE, "run_now", (_O,)),
        *_each((_S.RESTART, *TERMINAL), _S.PENDING, "retry", _O),
        *_each(TERMINAL, _S.IDLE, "retry", _O),
        *_each(TERMINAL, _S.WAITING, "retry", *_ANY_ACTOR),
        *(Transition(_S.CANCELLED, state, "reinstate", (_O,)) for state in (_S.PENDING, _S.POSTPONED)),
        *_each((_S.PENDING, _S.POSTPONED, _S.RESTART), _S.POSTPONED, "postpone", _O),
        *_each(at_rest, _S.CANCELLED, "cancel", _W, _D, _O, _C),
        Transition(_S.QUARANTINED, _S.PENDING, "requeue", (_O,)),
        Transition(_S.QUARANTINED, None, "discard", (_O,)),
        *_each(TERMINAL, None, "expire", _D),
        *_each(TERMINAL, None, "delete", _O),
        *(Transition(None, state, "restore", (_O,)) for state in TERMINAL),
    )


_ACTIONS: dict[State, tuple[str, ...]] = {
    State.WAITING: ("cancel",),
    State.POSTPONED: ("run_now", "postpone", "edit", "priority", "move", "cancel"),
    State.PENDING: ("postpone", "edit", "priority", "move", "cancel"),
    State.LOCKED: ("cancel", "release"),
    State.RESTART: ("retry", "run_now", "postpone", "edit", "priority", "move", "cancel"),
    State.IDLE: ("cancel",),
    State.QUARANTINED: ("requeue", "discard"),
    State.SUCCEEDED: ("retry", "edit", "keep", "delete"),
    State.FAILED: ("retry", "edit", "keep", "delete"),
    State.CANCELLED: ("reinstate", "retry", "edit", "keep", "delete"),
}
"""An operator's actions on a task in each state; every other action is refused with the reason."""


CONTAINERS = kinds.CONTAINERS
"""Kinds that no worker claims: their parts have lanes, priorities and attempts, they do not."""
_OF_WHAT_IS_CLAIMED = ("edit", "priority", "move")


class StateTable(NamedTuple):
    """The states of tasks with what some kinds add: classes, transitions, and an operator's actions in each.

    ``under_way`` are the states in which a task, or a part of it, may be running: leased ones, ``idle``, and the
    parked ones of kinds. ``flows`` are each allowed (source, target); an empty string stands for a task that does not
    exist. Tasks in the states ``on_agenda`` have an entry there: the end of a lease, a delay or a retention.
    """

    states: tuple[State, ...]
    classes: Mapping[str, StateClass]
    transitions: tuple[Transition, ...]
    actions: Mapping[str, tuple[str, ...]]
    leased: tuple[State, ...]
    under_way: tuple[State, ...]
    on_agenda: tuple[State, ...]
    flows: frozenset[tuple[str, str]]


@kinds.cached
def table() -> StateTable:
    """The states of tasks: those of the kernel, and of the registered kinds. Raises BadKind; then none is known."""
    return _table_of(kinds.registered())


def _table_of(found: Iterable[Kind]) -> StateTable:
    """The table with these kinds. Raises BadKind for states that contradict themselves, the kernel or another kind."""
    added = _checked(kinds.brought(found, "states"))
    words = {**{str(state): state for state in State}, **{word: _member(word) for one in added for word in one.classes}}
    own = {words[word]: StateClass(each) for one in added for word, each in one.classes.items()}
    leased = tuple(state for state, of in own.items() if of is StateClass.LEASED)
    parked = tuple(state for state, of in own.items() if of is StateClass.PARKED)
    running = (State.LOCKED, *leased)
    classes = _CLASSES | own
    rows = [Transition(words[row[0]], words[row[1]], *row[2:]) for one in added for row in one.transitions]
    transitions = (*_transitions(running, parked), *rows)
    actions = {**_ACTIONS, **{words[word]: verbs for one in added for word, verbs in one.actions.items()}}
    return StateTable(
        states=(every := tuple(_placed(State, leased, parked))),
        classes={state: classes[state] for state in _placed(_CLASSES, leased, parked)},
        transitions=transitions,
        actions={state: actions[state] for state in every},
        leased=running,
        under_way=(*running, State.IDLE, *parked),
        on_agenda=(*running, *TIMED, *TERMINAL),
        flows=frozenset((row.source or "", row.target or "") for row in transitions),
    )


def _checked(brought: Iterable[tuple[Kind, KindStates]]) -> list[KindStates]:
    """What kinds add. Raises BadKind for the first of them that does not fit."""
    owners = dict.fromkeys(map(str, State), KERNEL)
    found = []
    verbs = {row.verb for row in _transitions((State.LOCKED,), ())}
    known = tuple(dict.fromkeys(verb for each in _ACTIONS.values() for verb in each))
    for kind, added in brought:
        wrong = wrong_in_states(added, owners, verbs)
        if wrong := wrong or wrong_beside_kernel(added, _rows_of_kernel(added), known):
            raise BadKind(name=kind.name, reason=wrong)
        owners |= dict.fromkeys(added.classes, kind.name)
        found.append(added)
    return found


def _rows_of_kernel(added: KindStates) -> set[tuple[str, str, str]]:
    """The transitions that the states of a kind have from the kernel, and those of the kernel's own states."""
    own = {_member(word): of for word, of in added.classes.items()}
    leased, parked = (tuple(state for state, of in own.items() if of == wanted) for wanted in OWN_CLASSES)
    return {(row.source or "", row.target or "", row.verb) for row in _transitions((State.LOCKED, *leased), parked)}


def _placed(kernel: Iterable[State], leased: Iterable[State], parked: Iterable[State]) -> Iterator[State]:
    """The kernel's states, the leased ones of kinds behind ``locked``, and the parked ones behind ``idle``."""
    for state in kernel:
        yield state
        yield from {State.LOCKED: leased, State.IDLE: parked}.get(state, ())


def _member(word: str) -> State:
    """A state of a kind: equal to its word, as a member of the class is."""
    found = str.__new__(State, word)
    found._name_, found._value_ = word.upper(), word
    return found


def actions_of(kind: str, state: str) -> tuple[str, ...]:
    """An operator's actions on a task of this kind in this state; none in an unknown state."""
    verbs = table().actions.get(state, ())
    return verbs if kind not in CONTAINERS else tuple(verb for verb in verbs if verb not in _OF_WHAT_IS_CLAIMED)


def states_of(wanted: str) -> tuple[str, ...]:
    """The states that a filter asks for: one, several with commas between them, FINISHED, or all if it is empty."""
    if not wanted:
        return tuple(map(str, table().states))
    return tuple(map(str, TERMINAL)) if wanted == FINISHED else tuple(wanted.split(","))


def states_allowing(verb: str) -> tuple[str, ...]:
    """The states that permit an operator's ``verb``."""
    return tuple(state for state, verbs in table().actions.items() if verb in verbs)


def part_states() -> tuple[PartStates, ...]:
    """The states of the parts of each kind that has some."""
    return kinds.roles("parts.states")


def check_kinds() -> None:
    """Raise BadKind for states of a kind that the table does not have, or that contradict it or another kind."""
    known = table()
    for kind, added in kinds.brought(kinds.registered(), "states"):
        for phase, state in added.leased_as.items():
            if phase.partition(" ")[0] not in kind.records:
                raise BadKind(name=kind.name, reason=f"{phase!r} among its leased_as is none of its records")
            if state not in known.leased:
                reason = f"{state!r}, the state of {phase}, is none of {', '.join(known.leased)}"
                raise BadKind(name=kind.name, reason=reason)
    owners: dict[str, str] = {}
    for kind, parts in kinds.brought(kinds.registered(), "parts.states"):
        if parts.word in owners:
            both = f"{owners[parts.word]} and {kind.name}"
            raise BadKind(name=kind.name, reason=f"{both} declare the states of a {parts.word}")
        owners[parts.word] = kind.name
        if wrong := wrong_in_parts(parts, known.classes, known.leased):
            raise BadKind(name=kind.name, reason=f"of the states of a {parts.word}, {wrong}")


@kinds.cached
def held() -> tuple[str, ...]:
    """The states of tasks and of parts that a worker holds."""
    return tuple(dict.fromkeys((*table().leased, *(state for parts in part_states() for state in parts.leased))))


def as_markdown() -> str:
    """The tables of ``docs/states.md``: `python -m queueops.model.states > docs/states.md` regenerates them.

    They have the states of the kernel and of the kinds that QueueOps has, without those of other packages.
    """
    known = _table_of(KINDS)
    lines = [
        "# States",
        "",
        "Generated from `queueops/model/states.py`, and from what kinds add. A task is in exactly one state.",
        "",
        "| state | class | what an operator may do |",
        "|---|---|---|",
        *(f"| {state} | {known.classes[state]} | {', '.join(known.actions[state])} |" for state in known.states),
        "",
        "A ready task stands in a lane. A leased, timed or terminal task has an entry on the agenda: the end of its",
        "lease, delay or retention. A parked task waits for something else.",
        "",
        "| from | to | verb | who |",
        "|---|---|---|---|",
        *(f"| {t.source or '-'} | {t.target or '-'} | {t.verb} | {', '.join(t.actors)} |" for t in known.transitions),
        *(line for _, parts in kinds.brought(KINDS, "parts.states") for line in _markdown_of(parts)),
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
