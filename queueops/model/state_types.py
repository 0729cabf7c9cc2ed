"""Types of the state tables: classes of states, actors, and the tables that a kind brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple


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


Row = tuple[str, str, str, tuple[Actor, ...]]
"""One transition of a kind: source, target, verb, and the components that make it."""

OWN_CLASSES = (StateClass.LEASED, StateClass.PARKED)
"""Classes of the states that a kind may add. Ready, timed and terminal states belong to the kernel."""


class KindStates(NamedTuple):
    """What a kind adds to the table of the states of tasks.

    ``classes`` has its own states, each leased or parked. A leased state has the kernel's transitions of every leased
    state: all but the success. A parked one can be cancelled, and put into quarantine. ``transitions`` are further
    ones. ``actions`` are the verbs that an operator has in each state. ``verbs`` are its own verbs of transitions.
    ``leased_as`` has the leased state of a record, or of a record and its phase, where that is not ``locked``.
    """

    classes: Mapping[str, StateClass]
    actions: Mapping[str, tuple[str, ...]]
    transitions: Sequence[Row] = ()
    verbs: Sequence[str] = ()
    leased_as: Mapping[str, str] = {}


class PartStates(NamedTuple):
    """The states of the parts of a record that workers claim beside tasks: as the tables of tasks."""

    word: str  # field `k` of their leases
    classes: Mapping[str, StateClass]
    transitions: Sequence[Row]
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
