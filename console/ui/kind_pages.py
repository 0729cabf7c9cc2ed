"""Kind pages: what a kind shows in the console, registered by its row in ``queueops.model.kinds``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.template import Library
from django.utils.functional import Promise

from console.access.permissions import Verb
from queueops.inspect import Snapshot, TaskDetail
from queueops.model import kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One URL: its pattern, view and name, and the permission that a user needs.

    ``takes_arguments``: the permission to see arguments is needed too.
    """

    pattern: str
    view: Callable[..., HttpResponseBase]
    name: str
    permission: Verb
    given: Mapping[str, str] = field(default_factory=dict)
    takes_arguments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TabContent:
    """The content of a tab for one request: what its template gets, the tab's URL, and how it is refreshed live."""

    content: Any
    here: str
    live_params: Mapping[str, Any]
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A tab of a task's page, after the summary. Its URL has the name ``task-<name>``.

    Without ``read`` the tab is a page with routes of its own. `read` raises FilterError for values that are never
    offered.
    """

    name: str
    label: str | Promise
    template: str = ""
    read: Callable[[HttpRequest, TaskDetail], TabContent] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of the overview: a template, and what it gets as ``panel``."""

    template: str
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remedy:
    """The button that ends the condition of an alarm: name of its URL, label, and the URL for a pool and a thing."""

    url_name: str
    label: str | Promise
    address: Callable[[str, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWords:
    """Own words of a record: the badge of its state, what many of it are called, and its actions.

    ``number`` takes how many, and this number as the page shows it. ``actions`` have the calls of the standard ones,
    with another label and note, by their verb.
    """

    badge: Callable[[TaskDetail], str]
    number: Callable[[int, str], str]
    actions: Mapping[str, Any]


NavigationItem = tuple[str, str, str, str | Promise]
"""A link of the navigation: name of its URL, key, icon, label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPages:
    """All that a kind shows: tabs of its records, URLs, a part of the overview, links, and template tags.

    ``in_use``: whether the links are shown. Each page asks, so it must not ask the store each time. ``actions``: what
    the head of a record's page offers in the place of standard actions, by their verb. ``words`` has the own words of
    records, by record. ``remedies`` are buttons of the kind's alarms, by their verb.
    """

    records: tuple[str, ...] = ()
    tabs: tuple[Tab, ...] = ()
    routes: tuple[Route, ...] = ()
    panel: Callable[[Snapshot], Panel | None] | None = None
    tags: Library | None = None
    navigation: tuple[NavigationItem, ...] = ()
    in_use: Callable[[], bool] | None = None
    actions: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, RecordWords] = field(default_factory=dict)
    remedies: Mapping[str, Remedy] = field(default_factory=dict)


def kind_pages() -> tuple[KindPages, ...]:
    """The pages of the registered kinds, in the order of their rows; none if the kinds contradict each other.

    The URLs are read by `manage.py check`, too: its error E006 says what is wrong. Each call of the store raises it.
    """
    try:
        kinds.registered()
    except LookupError:
        return ()
    return kinds.roles("console")


def tabs_of_kind(record: str) -> list[Tab]:
    """The tabs that the kind of a record adds."""
    return [tab for pages in kind_pages() if record in pages.records for tab in pages.tabs]


def actions_of_kind(record: str) -> dict[str, Any]:
    """The actions that replace standard ones for a record, by the verb of the standard one."""
    own = {verb: each for pages in kind_pages() if record in pages.records for verb, each in pages.actions.items()}
    words = words_of_record(record)
    return own | dict(words.actions) if words is not None else own


def words_of_record(record: str) -> RecordWords | None:
    """The own words of a record; None if it has none."""
    return next((pages.words[record] for pages in kind_pages() if record in pages.words), None)


def tabs_with_content() -> dict[str, Tab]:
    """The tabs of all kinds that the task page shows, by name."""
    return {tab.name: tab for pages in kind_pages() for tab in pages.tabs if tab.read is not None}


def panels(snapshot: Snapshot) -> list[Panel]:
    """The parts that kinds add to the overview."""
    found = (pages.panel(snapshot) for pages in kind_pages() if pages.panel is not None)
    return [panel for panel in found if panel is not None]
