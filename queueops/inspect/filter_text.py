"""Filter text: the one grammar of task filters, for pages, commands, the API and actions on all matching tasks.

`name:shop.* state:failed error:Timeout age>10m -lane:bulk (tag:vip or tag:gold)`. Conditions that an index has are the
facets of a `TaskQuery`; the others are its `q`, which the store checks for each candidate, within a budget.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from queueops.errors import FilterError
from queueops.inspect.filter_fields import FIELDS as FIELDS
from queueops.inspect.filter_fields import Field as Field
from queueops.inspect.filter_fields import check, known_states
from queueops.inspect.filter_syntax import LONGEST as LONGEST
from queueops.inspect.filter_syntax import All, Either, Node, Not, Term, parsed, refuse, terms, written
from queueops.model.sentences import say

FACETS = {name: name for name in ("state", "name", "pool", "lane", "kind", "tag", "error", "id")} | {"text": "contains"}
"""The field of each facet that the grammar has, and the facet."""
FINGERPRINT = re.compile(r"[0-9a-f]{16}")


class Split(NamedTuple):
    """The facets of a filter, and the tree of the other conditions."""

    facets: dict[str, str]
    rest: All

    @property
    def text(self) -> str:
        """The other conditions as text, in one spelling."""
        return written(self.rest)


@lru_cache(maxsize=256)
def split(text: str) -> Split:
    """Parse a text: the first plain value of each field is a facet. Raises FilterError with position and advice."""
    facets, rest = dict[str, str](), list[Node]()
    found = tree(text)
    for part in found.of if isinstance(found, All) else (found,):
        if isinstance(part, Term) and _is_facet(part):
            facet = FACETS[part.field]
            if facets.setdefault(facet, part.value) == part.value:
                continue
        rest.append(part)
    for term in terms(All(tuple(rest))):
        if term.field == "text":
            refuse(term.at, say("text: stands once, not behind - and not between ( and )."))
    return Split(facets, All(tuple(rest)))


def has_field(text: str) -> bool:
    """Whether a text is a filter in which a condition names its field; words alone may mean anything."""
    try:
        return any(term.field for term in terms(tree(text)))
    except FilterError:
        return False


def condition_text(field: str, operator: str, value: str) -> str:
    """The text of one condition."""
    return written(Term(field, operator, value))


def conditions(text: str) -> list[tuple[str, str]]:
    """Each condition of a text, with the text of the others."""
    parts = split(text).rest.of if text else ()
    return [(written(part), written(All((*parts[:at], *parts[at + 1 :])))) for at, part in enumerate(parts)]


def text_of(facets: dict[str, str], rest: str) -> str:
    """The whole filter as one text."""
    names = {facet: field for field, facet in FACETS.items()}
    plain = [written(Term(names[facet], ":", value)) for facet, value in facets.items() if value]
    return " ".join([*plain, *([rest] if rest else [])])


def tree(text: str) -> Node:
    """The tree of a whole filter. Raises FilterError with position and advice."""
    return _checked(parsed(text))


def _checked(node: Node) -> Node:
    """The tree with valid terms: several values after commas are alternatives, states have their own names.

    Alternatives that are states become one term: their indexes are walked as one.
    """
    match node:
        case Not(of):
            return Not(_checked(of))
        case All(parts):
            return All(tuple(_checked(part) for part in parts))
        case Either(parts):
            return _joined([_checked(part) for part in parts])
        case Term(field="state"):
            check(node)
            return known_states(node)
        case Term():
            check(node)
            values = [value for value in node.value.split(",") if value] if node.field == "kind" else []
            return _joined([node._replace(value=value) for value in values or [node.value]])


def _joined(parts: list[Node]) -> Node:
    """What matches one of these parts."""
    states = [part for part in parts if isinstance(part, Term) and part.field == "state"]
    if len(states) > 1:
        whole = known_states(states[0]._replace(value=",".join(term.value for term in states)))
        parts = [whole, *(part for part in parts if part not in states)]
    return parts[0] if len(parts) == 1 else Either(tuple(parts))


def _is_facet(term: Term) -> bool:
    if term.field not in FACETS or "*" in term.value:
        return term.field == "text"
    return term.field != "error" or bool(FINGERPRINT.fullmatch(term.value))
