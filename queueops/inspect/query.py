"""Filter of a task list: validated facets, converted from and to the parameters of a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queueops.errors import FilterError
from queueops.inspect import filter_text
from queueops.inspect.filter_fields import Condition, condition, states_named
from queueops.model.sentences import say
from queueops.model.states import states_of

FACETS = ("state", "name", "pool", "lane", "kind", "tag", "error", "id", "contains")
PARAMETERS = (*FACETS, "q")
"""The parameters of a URL: the facets, and other conditions as text."""
FREE = ("name", "contains", "q")
"""Facets that may hold a #, which joins the parts of keys in the store."""
LONGEST = 200


class TaskQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A filter: every facet that is not empty must match. `error` is a fingerprint, `state` may be several with commas.

    `contains` is a text in the id or in the arguments, which are searched as the compact JSON that the store has. `q`
    has conditions that no index has, in the grammar of `parse_filter`.
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
    q: str = ""

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> TaskQuery:
        """Read a query string's parameters; other keys than facets are ignored. Raises FilterError with advice."""
        return cls(**{name: str(params.get(name) or "").strip() for name in PARAMETERS}).checked()

    def checked(self) -> TaskQuery:
        """The filter with the state's own name, if every facet is valid; raises FilterError with advice."""
        if self.q:
            return self._with_text()
        if self.state and (state := states_named(self.state)) != self.state:
            return msgspec.structs.replace(self, state=state).checked()
        for facet, value in self.params().items():
            if len(value) > LONGEST and facet != "q":
                reason = say("%(field)s is longer than %(most)s characters.", field=facet, most=str(LONGEST))
                raise FilterError(reason=reason)
            if "#" in value and facet not in FREE:
                raise FilterError(reason=say("no %(field)s holds a #.", field=facet))
        return self

    def _with_text(self) -> TaskQuery:
        """The filter in which each condition of `q` that a free facet can hold is a facet."""
        found = filter_text.split(self.q)
        taken = {facet: value for facet, value in found.facets.items() if getattr(self, facet) not in ("", value)}
        if "contains" in taken:
            values = {"one": repr(self.contains), "other": repr(taken["contains"])}
            raise FilterError(reason=say("it searches for one text: %(one)s or %(other)s.", **values))
        more = filter_text.text_of(taken, found.text)
        facets = msgspec.structs.replace(self, **(found.facets | self.facets), q="").checked()
        return msgspec.structs.replace(facets, q=more)

    @property
    def facets(self) -> dict[str, str]:
        """The facets that are set."""
        return {facet: value for facet in FACETS if (value := getattr(self, facet))}

    @property
    def text(self) -> str:
        """The whole filter in the grammar of `parse_filter`."""
        return filter_text.text_of(self.facets, self.q)

    def condition(self, pool: str, *, types_only: bool) -> Condition:
        """What `q` demands of the tasks of a pool."""
        return condition(filter_text.tree(self.q), pool, types_only=types_only) if self.q else True

    def whole(self) -> TaskQuery:
        """The filter itself, if an action on all matching tasks can take it; raises FilterError with advice."""
        if self.contains:
            reason = say("an action on all tasks cannot search for a text; select tasks of the list.")
            raise FilterError(reason=reason)
        return self.checked()

    def params(self) -> dict[str, str]:
        """The facets that are set, and `q`, as parameters of a URL."""
        return {name: value for name in PARAMETERS if (value := getattr(self, name))}


def parse_filter(text: str) -> TaskQuery:
    """The filter of a text such as `name:shop.* state:failed age>10m -lane:bulk (tag:vip or tag:gold)`.

    Raises FilterError, which names the position and says what to write.
    """
    return TaskQuery(q=text.strip()).checked()


def fits(wanted: str, state: str) -> bool:
    """Whether a task in this state is among those of a filter's states; an empty text has all."""
    return wanted in ("", state) or state in states_of(wanted)
