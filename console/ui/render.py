"""Rendering: a whole page in its frame, or a fragment with a version that tells whether it has changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cached_property
from time import monotonic
from typing import Any, NamedTuple

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template import RequestContext
from django.template.loader import get_template
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.access.pools import OF_ALL_POOLS, granted_in, granted_somewhere
from console.ui import formatting, language
from console.ui.columns import columns_of
from console.ui.kind_names import reserve
from console.ui.kind_pages import NavigationItem, finders, kind_pages, of_project, section_of, section_of_record
from console.ui.links import full_name_url, overview_of, with_query
from console.ui.notices import Notice, taken
from console.ui.preferences import THEMES, Preferences
from console.ui.state_badges import looks
from console.ui.static_files import one_sprite
from queueops import conf, inspect
from queueops.inspect import Alarm, Snapshot, Status, TaskDetail
from queueops.model.sentences import encodable
from queueops.model.sentences import language as active_language
from queueops.model.states import table

NAVIGATION: dict[str, tuple[NavigationItem, ...]] = {
    "work": (
        ("overview", "o", "layout-dashboard", _("Overview")),
        ("tasks", "t", "list-details", _("Tasks")),
        ("errors", "e", "bug", _("Errors")),
    ),
    "jobs": (),
    "fleet": (
        ("lanes", "l", "arrows-right", _("Lanes")),
        ("workers", "w", "cpu", _("Workers")),
        ("registry", "n", "code", _("Registry")),
    ),
    "admin": (
        ("alerts", "v", "bell", _("Alerts")),
        ("audit", "a", "history", _("Audit log")),
        ("settings", "s", "settings", _("Settings")),
    ),
}
"""The links of each group, in their order; those of kinds follow."""
GROUPS = {"work": _("Work"), "jobs": _("Jobs"), "fleet": _("Fleet"), "admin": _("Admin"), "own": _("Project")}
"""The labels of the groups. The last one has the pages of the setting CONSOLE_PAGES."""
reserve("key of the navigation", (item[1] for group in NAVIGATION.values() for item in group))

UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of text, so that an argument reads as another one, and control characters.

They are written as JSON escapes, so that arguments keep their value when they are edited.
"""


ALL_LISTED = "*"
"""What a page lists that has the alarms of all pools."""
STATUS_AGE_S = 1.0
"""So old the status may be that a page shows: many open pages cost the store one reading a second."""


class NavigationLink(NamedTuple):
    """A link of the navigation; `here`: it leads to the page that is shown, or to the section of that page."""

    group: str
    group_label: str
    url: str
    key: str
    icon: str
    label: str
    here: bool


class StoreLink(NamedTuple):
    """The console of a store: its name, its address; `here`: it is the one that is shown."""

    name: str
    url: str
    here: bool


class Frame:
    """The context that every page needs around its own content."""

    telling = ("edit", "operator")
    """Kinds of log lines that may tell arguments."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.given_status: Status | None = None
        self.section = ""
        """The page of the navigation that is marked; empty if the URL tells it."""
        self.listed = ""
        """The pool whose alarms the page itself lists, or ALL_LISTED: the status head does not tell them again."""
        self.preferences = Preferences.of(request)
        self.may: frozenset[str] = frozenset(granted_in(request.user, self._pools()))
        self.read_only = conf.current().read_only
        self.namespace = conf.current().namespace
        self.environment = conf.current().environment
        self.user = request.user

    @cached_property
    def columns(self) -> str:
        """The columns of task lists that the user has chosen."""
        return columns_of(self.user)

    def may_in(self, *pools: str) -> frozenset[str]:
        """What the user may do in each of these pools."""
        return frozenset(granted_in(self.user, pools))

    @property
    def may_somewhere(self) -> frozenset[str]:
        """What the user may do in the pool of the page, or else in any pool."""
        return self.may if self._pools() else frozenset(granted_somewhere(self.user))

    def _pools(self) -> list[str]:
        """The pool that the URL names, if the actions of the page are in it."""
        match = request_match(self.request)
        if match is not None and (match.url_name or "").startswith(OF_ALL_POOLS):
            return []
        named = getattr(match, "kwargs", {}).get("pool") or self.request.GET.get("pool", "")
        return [named] if named else []

    @property
    def leased(self) -> tuple[str, ...]:
        """The states in which a worker holds a task."""
        return table().leased

    @property
    def status(self) -> Status:
        """Whether everything is well: of the page's own snapshot, or at most a second old."""
        return self.given_status or inspect.status(STATUS_AGE_S)

    @property
    def told_alarms(self) -> tuple[Alarm, ...]:
        """The alarms that the status head tells, the worst first. A page of the past lists none itself."""
        alarms = self.status.alarms
        if self.listed == ALL_LISTED and not self.looks_back:
            return ()
        return tuple(alarm for alarm in alarms if self.looks_back or self.listed not in alarm.pools)

    @property
    def looks_back(self) -> bool:
        """Whether the page shows a moment of the past; the status head still tells of now, and says so."""
        return bool(self.request.GET.get("at"))

    @cached_property
    def navigation(self) -> tuple[NavigationLink, ...]:
        """The links of the navigation, group by group."""
        here = getattr(request_match(self.request), "url_name", "") or ""
        section = self.section or section_of(here) or here
        shown = [kind for kind in kind_pages() if kind.in_use is None or kind.in_use()]
        shown.sort(key=lambda kind: not kind.records)  # kinds with tasks of their own come first
        pages = {group: list(items) for group, items in NAVIGATION.items()}
        hidden = of_project() if conf.store_name() else ()
        for kind in shown:
            pages[kind.group] += (item for item in kind.navigation if item[0] not in hidden)
        links = [_link(group, section, "console:", item) for group, items in pages.items() for item in items]
        return (*links, *(_link("own", section, "", item) for item in getattr(settings, "CONSOLE_PAGES", ())))

    @cached_property
    def stores(self) -> tuple[StoreLink, ...]:
        """The project's own store and those of STORES; empty if there is one store alone."""
        names, here = conf.own().stores, conf.store_name()
        own = conf.own().environment
        labels = {"": own.name if own else gettext("this project")} | {name: name for name in names}
        return tuple(StoreLink(label, overview_of(name), name == here) for name, label in labels.items() if names)

    @cached_property
    def findable(self) -> str:
        """What the find box finds, as a list in a sentence."""
        things = _("task"), _("name"), _("lane"), _("worker"), _("error"), *(each.thing for each in finders())
        return one_of(things)

    @property
    def lang(self) -> str:
        """The language of the page; English in a project without translations, whatever its LANGUAGE_CODE is."""
        return active_language()

    @property
    def languages(self) -> list[tuple[str, str]]:
        """The languages among which the user can choose."""
        return language.offered()

    @property
    def time_words(self) -> dict[str, str]:
        """What the script needs to write relative times as the server does; `%s` is the time."""
        return {"ago": gettext("%(span)s ago") % {"span": "%s"}, "in": gettext("in %(span)s") % {"span": "%s"}}

    @property
    def decimal_separator(self) -> str:
        """The decimal separator of the user's language."""
        return formatting.local(".")

    @property
    def next_theme(self) -> str:
        """The theme that the button selects next."""
        return THEMES[(THEMES.index(self.preferences.theme) + 1) % len(THEMES)]

    @property
    def theme_icon(self) -> str:
        """The icon of the theme button."""
        return {"auto": "device-desktop", "light": "sun", "dark": "moon"}[self.preferences.theme]

    @property
    def messages(self) -> list[Notice]:
        """The messages of the last action."""
        return taken(self.request)

    @property
    def sees_arguments(self) -> bool:
        """Whether arguments, results and raw records may be shown."""
        return Verb.SEE_ARGUMENTS in self.may

    @property
    def looks(self) -> list[tuple[str, Any]]:
        """All states, with their appearance."""
        return [(str(state), look) for state, look in looks().items()]

    @property
    def took_ms(self) -> int:
        """Milliseconds since the request began."""
        return round((monotonic() - getattr(self.request, "began", monotonic())) * 1000)


def one_of(things: Iterable[str | Promise]) -> str:
    """Words as a list in a sentence, but for empty ones: a, b or c."""
    *first, last = [str(thing) for thing in things if thing]
    return gettext("%(first)s or %(last)s") % {"first": ", ".join(first), "last": last} if first else last


def request_match(request: HttpRequest) -> Any:
    """The resolver's match, or None on error pages."""
    return getattr(request, "resolver_match", None)


def page(
    request: HttpRequest, template: str, context: dict[str, Any] | None = None, *, status: int = 200
) -> HttpResponse:
    """Render `console/<template>` in its frame.

    Numbers are not localized, whatever the project's USE_THOUSAND_SEPARATOR and language are. Many of them return to
    the server in a form, or go into a drawing. Filters format the numbers for readers.
    """
    frame = Frame(request)
    frame.listed = (context or {}).get("listed", "")
    if isinstance(snapshot := (context or {}).get("snapshot"), Snapshot):
        frame.given_status = inspect.status_of(snapshot)
    if isinstance(task := (context or {}).get("task"), TaskDetail):
        frame.section = section_of_record(task.kind)
    values = {"request": request, "frame": frame, "may": frame.may, **(context or {})}
    compiled: Any = get_template(f"console/{template}")
    with one_sprite():
        made = compiled.template.render(RequestContext(request, values, use_l10n=False))
    return HttpResponse(_without_unseen(made), status=status)


def fragment(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """Render a part of a page, or answer 204 if the browser has this version already."""
    if request.GET.get("v") == context["version"]:
        return HttpResponse(status=204)
    return page(request, template, context)


def version_of(*data: Any) -> str:
    """A digest of the data, for comparison."""
    return hashlib.blake2b(msgspec.json.encode(data, enc_hook=encodable), digest_size=6).hexdigest()


def live_update(address: str, *data: Any, **params: Any) -> dict[str, str]:
    """The version of the data, and the URL of its live update: the address with this version and the parameters."""
    version = version_of(*data)
    return {"version": version, "live_url": with_query(address, params | {"v": version})}


def _link(group: str, section: str, namespace: str, item: NavigationItem) -> NavigationLink:
    name, key, icon, label = item
    here = _inside(section, name.rpartition(":")[2])
    return NavigationLink(group, str(GROUPS[group]), full_name_url(namespace + name), key, icon, str(label), here)


def _inside(here: str, name: str) -> bool:
    if here.partition("-")[0] == "pool":
        here = "lanes"
    return here == name or here.startswith((f"{name}-", f"{name.removesuffix('s')}-")) or here == name.removesuffix("s")


def _without_unseen(made: str) -> str:
    """Nearly no page has such characters: those that Python knows as printable take a tenth of the time."""
    told = made.replace("\n", "").replace(formatting.NARROW, "")
    return made if told.isprintable() else UNSEEN.sub(_spelled, made)


def _spelled(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
