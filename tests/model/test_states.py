"""The table of states is the single source: it must make sense in itself."""

from __future__ import annotations

from queueops.model import states
from queueops.model.states import TERMINAL, Actor, State, StateClass, table
from tests.support.for_each import for_each

TABLE = table()
ACTIONS, CLASSES, FLOWS, TRANSITIONS = TABLE.actions, TABLE.classes, TABLE.flows, TABLE.transitions

RESULTS = {
    "run_now": {State.PENDING},
    "retry": {State.PENDING},
    "requeue": {State.PENDING},
    "reinstate": {State.PENDING, State.POSTPONED},
    "postpone": {State.POSTPONED},
    "delete": {None},
    "discard": {None},
}
"""What becomes of a task by an operator's verb."""

RESTAGED = {"reprocess", "remap"}
"""Verbs on a map-reduce task because of its chunks: see `queueops.control.restart_from`."""

KEEPS = {"edit", "priority", "move", "keep"}
"""Verbs that leave a task in its state."""


def reachable() -> set[State]:
    """The states that a task can come to."""
    found: set[State | None] = {None}
    while True:
        more = {each.target for each in TRANSITIONS if each.source in found} - found
        if not more:
            return {state for state in found if state is not None}
        found |= more


def test_every_state_has_one_class_and_every_class_a_state() -> None:
    assert set(CLASSES) == set(ACTIONS) == set(TABLE.states)
    assert set(CLASSES.values()) == set(StateClass)
    assert len(CLASSES) == len(TABLE.states)


def test_a_task_is_on_the_agenda_in_every_class_that_ends_by_itself() -> None:
    assert set(TABLE.on_agenda) == {
        state for state in TABLE.states if CLASSES[state] in (StateClass.LEASED, StateClass.TIMED, StateClass.TERMINAL)
    }


def test_every_state_can_be_reached() -> None:
    assert reachable() == set(TABLE.states)


@for_each("state", TABLE.states)
def test_from_every_state_a_task_can_be_gone(state: State) -> None:
    found: set[State | None] = {state}
    while None not in found:
        more = {each.target for each in TRANSITIONS if each.source in found} - found
        assert more, f"no way out of {found}"
        found |= more


def test_no_transition_stands_twice() -> None:
    rows = [(each.source, each.target, each.verb, each.actors) for each in TRANSITIONS]
    assert len(rows) == len(set(rows))
    assert {(each.source or "", each.target or "") for each in TRANSITIONS} == FLOWS
    assert all(each.actors for each in TRANSITIONS)


def test_only_a_claim_leads_to_a_lease_and_only_from_ready() -> None:
    claims = [each for each in TRANSITIONS if each.target is not None and CLASSES[each.target] is StateClass.LEASED]
    assert {each.verb for each in claims} == {"claim"}
    assert {CLASSES[each.source] for each in claims if each.source} == {StateClass.READY}


def test_what_is_over_only_goes_or_begins_anew() -> None:
    for each in TRANSITIONS:
        if each.source in TERMINAL:
            assert each.target in (
                None,
                State.PENDING,
                State.POSTPONED,
                State("aggregating"),
                State.WAITING,
                State.IDLE,
            ), each
            assert each.verb in ("push", "postpone", "retry", "reinstate", "reprocess", "expire", "delete"), each


@for_each("state", TABLE.states)
def test_an_operators_actions_are_transitions_of_the_table(state: State) -> None:
    made = {(each.source, each.target, each.verb) for each in TRANSITIONS if Actor.OPERATOR in each.actors}
    assert len(ACTIONS[state]) == len(set(ACTIONS[state]))
    for verb in ACTIONS[state]:
        if verb in KEEPS:
            continue
        if verb == "cancel":
            expected = {State.CANCELLED}
            verbs = ("settle",) if CLASSES[state] is StateClass.LEASED else ("cancel",)
            made_by_any = {(each.source, each.target, each.verb) for each in TRANSITIONS}
            assert all((state, target, each) in made_by_any for target in expected for each in verbs)
        else:
            targets = RESULTS.get(verb, {State.PENDING})
            assert all((state, target, verb) in made for target in targets), (state, verb)


def test_every_operators_transition_is_an_action_of_its_state() -> None:
    for each in TRANSITIONS:
        if each.actors == (Actor.OPERATOR,) and each.source is not None and each.verb not in RESTAGED:
            assert each.verb in ACTIONS[each.source], each


def test_which_states_allow_a_verb() -> None:
    assert states.states_allowing("requeue") == (State.QUARANTINED,)
    assert set(states.states_allowing("delete")) == set(TERMINAL)
    assert states.states_allowing("dance") == ()


def test_a_state_is_its_word() -> None:
    assert str(State.PENDING) == f"{State.PENDING}" == "pending"
    assert len({*TABLE.states}) == 13
