"""Names of kinds in the console: a page, a verb and the like have one owner, and a piece stands at a known place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from console.access.permissions import OWN

if TYPE_CHECKING:
    from console.ui.kind_pages import KindPages

PLACES = (
    *("overview", "overview.out", "overview.waiting", "overview.lanes", "lanes"),
    "task.state",
    *("task.facts", "task.facts.parent", "task.facts.start", "task.facts.ran", "task.facts.generation"),
    *("task.reason", "task.why", "errors", "errors.failed"),
    *("name", "name.options", "registry.head", "registry.row", "commands.dead"),
)
"""Where pages have parts of kinds; docs/kinds.md says what each gets."""

Name = tuple[str, str]
"""What has a name, and the name."""


_OWN: set[Name] = {("page", name) for name in OWN}


def reserve(what: str, names: Iterable[str]) -> None:
    """Note names of the console itself, which no kind may take. The module that has them calls it."""
    _OWN.update((what, name) for name in names)


def refusals(found: Sequence[tuple[str, KindPages]]) -> dict[str, str]:
    """The kinds whose pages cannot be shown: what is wrong with each, and what to do. The first owner keeps a name."""
    refused: dict[str, str] = {}
    owners = dict.fromkeys(_OWN, "the console")
    for kind, pages in found:
        names = list(_names(pages))
        if wrong := _wrong_place(pages) or _wrong_name(names, owners):
            refused[kind] = wrong
        else:
            owners |= dict.fromkeys(names, f"the kind {kind}")
    return refused


def _wrong_place(pages: KindPages) -> str:
    for place in pages.pieces:
        if place not in PLACES:
            near = get_close_matches(place, PLACES, 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            return f"no page has the place {place!r} of its pieces.{meant} The places are {', '.join(PLACES)}."
    return ""


def _wrong_name(names: Sequence[Name], owners: dict[Name, str]) -> str:
    for (what, name), number in Counter(names).items():
        if number > 1:
            return f"it has the {what} {name!r} twice. Rename one of them."
        if owner := owners.get((what, name)):
            return f"{owner} has the {what} {name!r} already. Rename it in one of them, or remove one of the packages."
    return ""


def _names(pages: KindPages) -> Iterator[Name]:
    """All that is looked up by its name, whatever kind has it."""
    yield from (("page", route.name) for route in pages.routes)
    yield from (("page", f"task-{tab.name}") for tab in pages.tabs if tab.read is not None)
    yield from (("URL", route.pattern) for route in pages.routes)
    yield from (("verb", verb) for verb in pages.verbs)
    yield from (("remedy", verb) for verb in pages.remedies)
    yield from (("record with own words", record) for record in pages.words)
    yield from (("record with usual states", record) for record in pages.usual)
    yield from (("fact of the audit log", name) for name in pages.facts)
    yield from (("key of the navigation", item[1]) for item in pages.navigation if item[1])
    if pages.tags is not None:
        yield from (("template tag", name) for name in pages.tags.tags)
        yield from (("template filter", name) for name in pages.tags.filters)
