"""Names of kinds in the console: a page, a verb and the like have one owner, and a piece stands at a known place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from console.access.permissions import OWN

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


def refusals(found: Iterable[tuple[str, Sequence[Name], Iterable[str]]]) -> dict[str, str]:
    """The kinds whose pages cannot be shown: what is wrong with each, and what to do. The first owner keeps a name.

    ``found`` has each kind with the names and the places that it wants.
    """
    refused: dict[str, str] = {}
    owners = dict.fromkeys(_OWN, "the console")
    for kind, names, places in found:
        if wrong := _wrong_place(places) or _wrong_name(names, owners):
            refused[kind] = wrong
        else:
            owners |= dict.fromkeys(names, f"the kind {kind}")
    return refused


def _wrong_place(places: Iterable[str]) -> str:
    for place in places:
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
