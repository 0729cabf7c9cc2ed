"""What an operator may do with a task: what its state permits, without what its kind always refuses."""

from __future__ import annotations

from collections.abc import Mapping

from queueops.model import kinds
from queueops.model.states import actions_of


def allowed_verbs(kind: str, state: str, fields: Mapping[str, str]) -> tuple[str, ...]:
    """The verbs for a record of this kind, by the fields that are known; none for an unknown state."""
    verbs = actions_of(kind, state)
    refused = refused_verbs(kind, {**fields, "s": state})
    return tuple(verb for verb in verbs if verb not in refused)


def refused_verbs(kind: str, fields: Mapping[str, str]) -> tuple[str, ...]:
    """The verbs that the kind refuses for each record with these fields."""
    details = kinds.of_record(kind, "details")
    return tuple(details.refuses(kind, fields)) if details else ()
