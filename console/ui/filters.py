"""Facet filters beside a list: for each facet its most frequent values, with task counts and links."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.ui.badges import icon
from console.ui.error_names import error_name
from console.ui.formatting import short
from console.ui.links import url
from console.ui.markup import joined, markup
from console.ui.state_badges import label as state_label
from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.inspect.filter_text import conditions
from queueops.model.states import states_of

LABELS: dict[str, str | Promise] = {
    "state": _("State"),
    "name": _("Name"),
    "pool": _("Pool"),
    "lane": _("Lane"),
    "kind": _("Kind"),
    "tag": _("Tag"),
    "error": _("Error"),
    "id": _("Id"),
    "contains": _("Text"),
    "q": _("Filter"),
}


USUAL = ("pending", "locked", "postponed", "restart", "succeeded", "failed", "cancelled")
"""States that are offered also while no task is in them."""


class Value(msgspec.Struct, frozen=True):
    """One value; `url` selects it, or removes it from the filter if it is selected."""

    text: str
    count: int | None
    url: str
    chosen: bool


MOST = 50
"""The values of a facet that the store tells."""


class Facet(msgspec.Struct, frozen=True):
    """One facet of tasks, with its values."""

    name: str
    label: str
    values: tuple[Value, ...]

    @property
    def may_have_more(self) -> bool:
        """Whether there may be more values than the store tells."""
        return len(self.values) >= MOST


def build(query: TaskQuery, counted: Mapping[str, list[tuple[str, int | None]]]) -> dict[str, Facet]:
    """All facets that have values, in the order of LABELS; the selected value is always among them."""
    counted = dict(counted)
    counted["state"] = [(text, count) for text, count in counted.get("state", []) if count != 0 or text in USUAL]
    counted["error"] = []  # a fingerprint is not readable; the error pages link here
    built = (_facet(query, name, counted.get(name, [])) for name in LABELS if name != "q")
    return {facet.name: facet for facet in built if facet.values}


def chosen(query: TaskQuery) -> list[tuple[str, str]]:
    """Each condition of the filter but the state, with the URL of the list without it."""
    of_facets = [
        (f"{LABELS[name]}: {value_label(name, value)}", address(query, **{name: ""}))
        for name, value in query.facets.items()
        if name != "state"
    ]
    return of_facets + [(text, address(query, q=rest)) for text, rest in conditions(query.q)]


def value_label(name: str, value: str) -> str:
    """The value of a condition as a page shows it."""
    match name:
        case "error":
            return error_name(value)
        case "lane":
            return inspect.lane_label(value)
        case "state":
            return state_label(value)
    return value


def facet_values(facet: Facet, uncounted: str) -> SafeString:
    """The values as items of a list, with `uncounted` where the number is not known; a page has some hundred."""
    remove = icon("x", gettext("remove"))
    item = '<li data-key="{}"><a href="{}"{}><span>{}</span> {}</a></li>'
    return joined(
        markup(
            item,
            value.text,
            value.url,
            markup(' aria-current="true"') if value.chosen else "",
            inspect.lane_label(value.text) if facet.name == "lane" else value.text,
            remove if value.chosen else uncounted if value.count is None else markup("<b>{}</b>", short(value.count)),
        )
        for value in facet.values
    )


def address(query: TaskQuery, **changed: str) -> str:
    """The URL of the list with some facets changed; an empty facet is left out."""
    return url("tasks", query.params() | changed)


def _facet(query: TaskQuery, name: str, counted: list[tuple[str, int | None]]) -> Facet:
    values = [_value(query, name, text, count) for text, count in counted if text]
    known = dict(counted)
    values[:0] = [_value(query, name, text, None) for text in _chosen(query, name) if text not in known]
    return Facet(name, str(LABELS[name]), tuple(values))


def _chosen(query: TaskQuery, name: str) -> tuple[str, ...]:
    """The values of a facet that the filter has: of states it may have several."""
    value = getattr(query, name)
    return states_of(value) if value and name == "state" else (value,) if value else ()


def _value(query: TaskQuery, name: str, text: str, count: int | None) -> Value:
    chosen = _chosen(query, name)
    left = ",".join(each for each in chosen if each != text) if text in chosen else text
    return Value(text, count, address(query, **{name: left}), text in chosen)
