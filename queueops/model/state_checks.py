"""Checks of the state tables that kinds bring: what contradicts itself, the kernel, or another kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from queueops.model.state_types import OWN_CLASSES, KindStates, PartStates

KERNEL = "the kernel"
"""The owner of the states that every task can have."""
_OF_LUA = (
    "and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|return|then|true|until|while"
)
WORD = re.compile(rf"(?!(?:{_OF_LUA})$)[a-z]+")
"""How the word of a state is written: a table of the library has it as a name."""


def wrong_in_states(added: object, owners: Mapping[str, str], verbs: Collection[str]) -> str:
    """What is wrong with the states that a kind adds; empty if nothing is.

    ``owners`` has the states of the kernel, and those of other kinds, each with its owner. ``verbs`` are those of
    transitions of the kernel's states.
    """
    if not isinstance(added, KindStates):
        return f"its states are {added!r}, and must be KindStates"
    for state, its_class in added.classes.items():
        if not WORD.fullmatch(state):
            return f"{state!r} among its states is not valid; write it as 'turning'"
        if state in owners:
            return f"{owners[state]} has the state {state}, too"
        if its_class not in OWN_CLASSES:
            return f"{its_class!r}, the class of its state {state}, is none of {', '.join(OWN_CLASSES)}"
    known = {*added.classes, *(state for state, owner in owners.items() if owner == KERNEL)}
    for source, target, verb, _ in added.transitions:
        if unknown := {source, target} - known:
            return f"{min(unknown)!r}, a state of its transition {verb}, is neither its own nor the kernel's"
        if verb not in verbs and verb not in added.verbs:
            return f"{verb!r}, the verb of its transition {source} {target}, is neither its own nor the kernel's"
    return _wrong_tables(added)


def wrong_beside_kernel(added: KindStates, rows: Collection[tuple[str, str, str]], known: Collection[str]) -> str:
    """What is wrong with its transitions and actions beside those of the kernel; empty if nothing is.

    ``rows`` are the transitions that its states have from the kernel. ``known`` are the verbs of an operator.
    """
    if twice := {row[:3] for row in added.transitions}.intersection(rows):
        return f"the transition {' '.join(min(twice))} is declared twice: the kernel has it for its states"
    for state, verbs in added.actions.items():
        for verb in verbs:
            if verb not in known:
                return f"{verb!r}, an action in its state {state}, is none of {', '.join(known)}"
    return ""


def wrong_in_parts(parts: PartStates, classes: Mapping[str, object], leased: Collection[str]) -> str:
    """What contradicts itself, or the states of tasks; empty if nothing does."""
    if shared := {*parts.leased}.intersection(classes).difference(leased):
        return f"{min(shared)} is leased, and that of a task is not"
    if unknown := {state for row in parts.transitions for state in row[:2]}.difference(parts.classes):
        return f"{min(unknown)} has no class"
    return _wrong_tables(parts)


def _wrong_tables(tables: KindStates | PartStates) -> str:
    if unknown := {*tables.classes}.symmetric_difference(tables.actions):
        return f"{min(unknown)} stands in one of its tables alone"
    rows = [" ".join(row[:3]) for row in tables.transitions]
    if twice := {row for row in rows if rows.count(row) > 1}:
        return f"the transition {min(twice)} is declared twice"
    return ""
