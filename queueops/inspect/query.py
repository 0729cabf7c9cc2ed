"""Filter of a task list: validated facets, converted from and to the parameters of a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queueops.errors import FilterError, advice
from queueops.model.states import table

FACETS = ("state", "name", "pool", "lane", "kind", "tag", "error", "id", "contains")
FREE = ("name", "contains")
"""Facets that may hold a #, which joins the parts of keys in the store."""
LONGEST = 200


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
        """The filter itself, if every facet is valid; raises FilterError with advice."""
        if self.state and self.state not in table().states:
            raise FilterError(reason=f"there is no state {self.state!r}{advice(self.state, map(str, table().states))}")
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
        return self.checked()

    def params(self) -> dict[str, str]:
        """The facets that are set, as parameters of a URL."""
        return {facet: value for facet in FACETS if (value := getattr(self, facet))}
