"""Filter of a task list: validated facets, converted from and to the parameters of a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queueops.errors import FilterError, advice
from queueops.model.states import FINISHED, TERMINAL, State, table

FACETS = ("state", "name", "pool", "lane", "kind", "tag", "error", "id", "contains")
FREE = ("name", "contains")
"""Facets that may hold a #, which joins the parts of keys in the store."""
LONGEST = 200
WORDS = {
    **dict.fromkeys(("startable", "ready", "queued"), str(State.PENDING)),
    **dict.fromkeys(("running", "active", "started"), str(State.LOCKED)),
    **dict.fromkeys(("retrying", "backing_off"), str(State.RESTART)),
    **dict.fromkeys(("delayed",), str(State.POSTPONED)),
    **dict.fromkeys(("done", "completed"), str(State.SUCCEEDED)),
    **dict.fromkeys(("dead", "error"), str(State.FAILED)),
    "canceled": str(State.CANCELLED),
    "ended": FINISHED,
}
"""Other words for a state in a filter. Answers have the state's own name."""


class TaskQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A filter: every facet that is not empty must match. `error` is a fingerprint.

    `contains` is a text in the id or in the arguments, which are searched as the compact JSON that the store has.
    """

    state: str = ""
    name: str = ""
    pool: str = ""
    lane: str = ""
    kind: str = ""
    tag: str = ""
    error: str = ""
    id: str = ""
    contains: str = ""

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> TaskQuery:
        """Read a query string's parameters; other keys than facets are ignored. Raises FilterError with advice."""
        return cls(**{facet: str(params.get(facet) or "").strip() for facet in FACETS}).checked()

    def checked(self) -> TaskQuery:
        """The filter with the state's own name, if every facet is valid; raises FilterError with advice."""
        known = table().states
        if self.state not in ("", FINISHED, *known):
            if self.state in WORDS:
                return msgspec.structs.replace(self, state=WORDS[self.state]).checked()
            raise FilterError(
                reason=f"there is no state {self.state!r}{advice(self.state, (*map(str, known), *WORDS))}"
            )
        for facet, value in self.params().items():
            if len(value) > LONGEST:
                raise FilterError(reason=f"{facet} is longer than {LONGEST} characters.")
            if "#" in value and facet not in FREE:
                raise FilterError(reason=f"no {facet} holds a #.")
        return self

    def whole(self) -> TaskQuery:
        """The filter itself, if an action on all matching tasks can take it; raises FilterError with advice."""
        if self.contains:
            raise FilterError(reason="an action on all tasks cannot search for a text; select tasks of the list.")
        found = self.checked()
        if found.state == FINISHED:
            raise FilterError(reason=f"an action on all tasks needs one state: write one of {', '.join(TERMINAL)}.")
        return found

    def params(self) -> dict[str, str]:
        """The facets that are set, as parameters of a URL."""
        return {facet: value for facet in FACETS if (value := getattr(self, facet))}


def fits(wanted: str, state: str) -> bool:
    """Whether a task in this state is among those of a filter's state; an empty one has all."""
    return wanted in ("", state) or (wanted == FINISHED and state in TERMINAL)
