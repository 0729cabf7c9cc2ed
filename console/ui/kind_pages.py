"""Kind pages: what a kind shows in the console, named by its ``console``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponseBase
from django.template import Library
from django.utils.functional import Promise

from console.access.permissions import Verb
from console.ui.exported import Exported
from console.ui.kind_names import Name, refusals
from queueops.inspect import PoolView, TaskDetail, TaskFacts
from queueops.model import kinds

logger = logging.getLogger("console.kinds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One URL: its pattern, view and name, and the permission that a user needs.

    ``takes_arguments``: the permission to see arguments is needed too. ``verb``: the verb of the audit log for a denied
    action; without it, the end of the name. ``section``: the page of the navigation that is marked; without it, the one
    whose name the URL's name begins with. ``of_project``: the page shows the project's database, and not the store; the
    consoles of other stores do not have it.
    """

    pattern: str
    view: Callable[..., HttpResponseBase]
    name: str
    permission: Verb
    given: Mapping[str, str] = field(default_factory=dict)
    takes_arguments: bool = False
    verb: str = ""
    section: str = ""
    of_project: bool = False


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
class Piece:
    """A part of a page: a template, and what it gets as ``piece``."""

    template: str
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remedy:
    """A button that mends what an alarm or a finding tells: name of its URL, label, the URL for a pool and a thing."""

    url_name: str
    label: str | Promise
    address: Callable[[str, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWords:
    """Own words of a record: what many of it are called, the badge of its state, and its actions.

    ``number`` takes how many, and this number as the page shows it. ``actions`` have the calls of the standard ones,
    with another label and note, by their verb.
    """

    number: Callable[[int, str], str]
    badge: Callable[[TaskDetail], str] | None = None
    actions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbWords:
    """A verb that a kind adds to the audit log.

    ``phrase`` is the button that confirms, with ``%(what)s``. ``afterwards`` is the lasting effect of the action.
    ``ends``: the action ends work, or leaves a part of it out. ``reasoned``: the store keeps the reason too.
    ``counted`` names what was changed, by its number; without it these are tasks. ``undo`` takes the audit entry,
    ``who`` and ``token``, and gives the steps back.
    """

    label: str | Promise
    phrase: str | Promise = ""
    afterwards: str | Promise = ""
    ends: bool = False
    reasoned: bool = False
    counted: Callable[[int], str] | None = None
    undo: Callable[..., Iterator[Any]] | None = None


class Hit(NamedTuple):
    """Something that was found: its name, more about it, and its page. Verbs of its finder need its pool."""

    text: str
    url: str
    more: str = ""
    state: str = ""
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """What the find box finds of a kind: the title of the hits, and these by a text, in any case of letters.

    ``thing`` is a word for one, ``id`` for an id that is found whole. ``verbs`` have names of URLs that take the hit.
    """

    thing: str | Promise = ""
    id: str | Promise = ""
    title: str | Promise = ""
    hits: Callable[[str], Iterator[Hit]] | None = None
    verbs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPages:
    """Parts of a record that workers claim beside tasks: their page, and their numbers in a pool.

    ``task`` takes an id, as heartbeats and errors have it, and gives that of the part's task; empty for another id.
    ``url`` and ``read`` take the id and the pool. ``number`` takes how many.
    """

    task: Callable[[str], str]
    url: Callable[[str, str], str]
    read: Callable[[str, str], Any]
    waiting: Callable[[PoolView], int]
    active: Callable[[PoolView], int]
    number: Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePages:
    """A state of a kind: its icon, its meaning in a sentence, and the centre of its box in the two diagrams.

    Without ``label`` pages show the stored word. A state without places is not drawn. ``like`` is the state whose
    colour it has, if the style sheet has none for it.
    """

    icon: str
    meaning: str | Promise
    label: str | Promise = ""
    like: str = ""
    wide: tuple[int, int] | None = None
    narrow: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What other arguments of a task delete: how many, a sentence, and what to do if the number is not typed."""

    count: int
    note: str
    advice: str | Promise


OF_THE_ENGINE = ("pool_messages", "follow_ups", "schedules", "outbox")
"""What is no kind, and registers its pages like one."""
NavigationItem = tuple[str, str, str, str | Promise]
"""A link of the navigation: name of its URL, key, icon, label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPages:
    """All that a kind shows: tabs of its records, URLs, parts of pages, links, and template tags.

    ``group``: the group of its links in the navigation: work, jobs, fleet or admin. ``sections``: the link that is
    marked on the page of a record, by record. ``in_use``: whether the links are shown. Each page asks, so it must not
    ask the store each time. ``actions``: what the head of a record's page offers in the place of standard actions, by
    their verb. ``words`` has the own words of records, by record. ``remedies`` are buttons of the kind's alarms and
    findings, by their verb. ``verbs`` are its own verbs, and ``notes`` are sentences that it adds to the notes of
    standard actions, by their verb. ``offer`` takes a task of the kind and the standard actions that are offered, by
    verb, and gives those with own labels, or others. ``facts`` are labels of facts in the audit log, by name.
    ``worker_words`` label facts of workers, their values, and lines of logs. ``pieces`` are parts of pages, by place
    (docs/kinds.md). ``lost_by_edit``: what an edit of the arguments deletes. ``usual``: the states that the diagram of
    a task draws, by record. ``ways``: transitions that the diagram always draws, as ``pending>locked``. ``states`` are
    its own states. ``exports`` are lists that can be exported, by the name of their page's URL.
    """

    records: tuple[str, ...] = ()
    tabs: tuple[Tab, ...] = ()
    routes: tuple[Route, ...] = ()
    pieces: Mapping[str, Callable[[Any], Piece | None]] = field(default_factory=dict)
    tags: Library | None = None
    navigation: tuple[NavigationItem, ...] = ()
    group: str = "work"
    sections: Mapping[str, str] = field(default_factory=dict)
    in_use: Callable[[], bool] | None = None
    actions: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, RecordWords] = field(default_factory=dict)
    remedies: Mapping[str, Remedy] = field(default_factory=dict)
    verbs: Mapping[str, VerbWords] = field(default_factory=dict)
    notes: Mapping[str, str | Promise] = field(default_factory=dict)
    offer: Callable[[TaskFacts, dict[str, Any]], dict[str, Any]] | None = None
    facts: Mapping[str, str | Promise] = field(default_factory=dict)
    worker_words: Mapping[str, str | Promise] = field(default_factory=dict)
    finder: Finder | None = None
    parts: PartPages | None = None
    lost_by_edit: Callable[[TaskDetail], Loss | None] | None = None
    usual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ways: str = ""
    states: Mapping[str, StatePages] = field(default_factory=dict)
    exports: Mapping[str, Exported] = field(default_factory=dict)

    def names(self) -> Iterator[Name]:
        """All that is looked up by its name, whatever kind has it."""
        yield from (("page", route.name) for route in self.routes)
        yield from (("page", f"task-{tab.name}") for tab in self.tabs if tab.read is not None)
        yield from (("URL", route.pattern) for route in self.routes)
        yield from (("verb", verb) for verb in self.verbs)
        yield from (("remedy", verb) for verb in self.remedies)
        yield from (("record with own words", record) for record in self.words)
        yield from (("record with usual states", record) for record in self.usual)
        yield from (("fact of the audit log", name) for name in self.facts)
        yield from (("key of the navigation", item[1]) for item in self.navigation if item[1])
        if self.tags is not None:
            yield from (("template tag", name) for name in self.tags.tags)
            yield from (("template filter", name) for name in self.tags.filters)


def kind_pages() -> tuple[KindPages, ...]:
    """The pages of the registered kinds, in the order of their rows; none if the kinds contradict each other.

    The URLs are read by `manage.py check`, too: its error E006 says what is wrong. Each call of the store raises it.
    The pages of a kind with a name or a place that does not fit are left out.
    """
    try:
        kinds.registered()
    except LookupError:
        return ()
    return _fitting()


@kinds.cached
def of_project() -> frozenset[str]:
    """The names of the URLs that only the project's own console has."""
    return frozenset(route.name for pages in kind_pages() for route in pages.routes if route.of_project)


@kinds.cached
def refused_pages() -> dict[str, str]:
    """The kinds whose pages are not shown, each with the reason and the remedy."""
    return refusals((kind, list(pages.names()), pages.pieces) for kind, pages in _brought())


@kinds.cached
def _fitting() -> tuple[KindPages, ...]:
    refused = refused_pages()
    for name, reason in refused.items():
        logger.error("The pages of the kind %s are not shown: %s", name, reason)
    return tuple(pages for name, pages in _brought() if name not in refused)


def _brought() -> list[tuple[str, KindPages]]:
    """The pages of the built-in kinds, those of the engine's own parts, and those of kinds of other packages."""
    found = [(kind.name, pages) for kind, pages in kinds.brought(kinds.registered(), "console")]
    place = len(kinds.brought(kinds.KINDS, "console"))
    own = [(name, import_module(f"console.kinds.{name}.registration").PAGES) for name in OF_THE_ENGINE]
    return [*found[:place], *own, *found[place:]]


def tabs_of_kind(record: str) -> list[Tab]:
    """The tabs that the kind of a record adds."""
    return [tab for pages in kind_pages() if record in pages.records for tab in pages.tabs]


def actions_of_kind(record: str) -> dict[str, Any]:
    """The actions that replace standard ones for a record, by the verb of the standard one."""
    own = {verb: each for pages in kind_pages() if record in pages.records for verb, each in pages.actions.items()}
    return own | dict(words.actions if (words := words_of_record(record)) else ())


def words_of_record(record: str) -> RecordWords | None:
    """The own words of a record; None if it has none."""
    return next((pages.words[record] for pages in kind_pages() if record in pages.words), None)


def offered_by_kind(task: TaskFacts, actions: dict[str, Any]) -> dict[str, Any]:
    """The standard actions on a task, by verb, with what its kind changes."""
    for pages in kind_pages():
        if pages.offer is not None and task.kind in pages.records:
            return pages.offer(task, actions)
    return actions


def verbs_of_kinds() -> dict[str, VerbWords]:
    """The verbs that kinds add, in the order of the rows."""
    return {verb: words for pages in kind_pages() for verb, words in pages.verbs.items()}


def verb_of_kind(verb: str) -> VerbWords | None:
    """The words of a verb that a kind adds; None for another one."""
    return next((pages.verbs[verb] for pages in kind_pages() if verb in pages.verbs), None)


def notes_of_kinds(verb: str) -> list[str]:
    """What kinds add to the note of a standard action."""
    return [str(pages.notes[verb]) for pages in kind_pages() if verb in pages.notes]


def remedy_of_kind(verb: str) -> Remedy | None:
    """The button for a verb of a kind in an alarm or in a finding; None without one."""
    return next((pages.remedies[verb] for pages in kind_pages() if verb in pages.remedies), None)


def fact_labels() -> dict[str, str | Promise]:
    """The labels of facts of kinds in the audit log, by name."""
    return {name: label for pages in kind_pages() for name, label in pages.facts.items()}


def worker_words() -> dict[str, str | Promise]:
    """The labels of facts of workers that kinds tell, and of their values, by the stored word."""
    return {word: label for pages in kind_pages() for word, label in pages.worker_words.items()}


def denied_verb(url_name: str) -> str:
    """The verb of the audit log for a URL of a kind; empty if no kind names one."""
    return next((route.verb for pages in kind_pages() for route in pages.routes if route.name == url_name), "")


def tabs_with_content() -> dict[str, Tab]:
    """The tabs of all kinds that the task page shows, by name."""
    return {tab.name: tab for pages in kind_pages() for tab in pages.tabs if tab.read is not None}


def pieces_at(place: str, about: Any = None) -> list[Piece]:
    """The parts that kinds add at a place of a page, about what stands there."""
    found = (pages.pieces[place](about) for pages in kind_pages() if place in pages.pieces)
    return [piece for piece in found if piece is not None]


def parts_of(id: str) -> PartPages | None:
    """The parts to which an id belongs; None for the id of a task."""
    return next((each for each in parts() if each.task(id)), None) if "#" in id else None


def parts() -> list[PartPages]:
    """The parts of records that workers claim beside tasks."""
    return [pages.parts for pages in kind_pages() if pages.parts is not None]


def lost_by_edit(task: TaskDetail) -> Loss | None:
    """What an edit of a task's arguments deletes; None if nothing."""
    return next(filter(None, (each.lost_by_edit(task) for each in kind_pages() if each.lost_by_edit is not None)), None)


def usual_states(record: str) -> tuple[str, ...]:
    """The states that a diagram of a record draws; empty if its kind does not say it."""
    return next((pages.usual[record] for pages in kind_pages() if record in pages.usual), ())


def states_of_kinds() -> dict[str, StatePages]:
    """How the states of kinds look, and where the diagram has them."""
    return {state: shown for pages in kind_pages() for state, shown in pages.states.items()}


def ways_of_kinds() -> str:
    """The transitions that the diagram always draws for kinds."""
    return " ".join(pages.ways for pages in kind_pages() if pages.ways)


def finders() -> list[Finder]:
    """What the find box finds of the kinds."""
    return [pages.finder for pages in kind_pages() if pages.finder is not None]


def section_of(url_name: str) -> str:
    """The page of the navigation to which a kind's page belongs; empty if its name tells it."""
    return next((route.section for pages in kind_pages() for route in pages.routes if route.name == url_name), "")


def section_of_record(kind: str) -> str:
    """The page of the navigation to which a record's page belongs; empty if it is the list of tasks."""
    return next((pages.sections[kind] for pages in kind_pages() if kind in pages.sections), "")
