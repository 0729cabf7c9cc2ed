"""Progress of a search: how far it is, and how its next step is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from console.ui.links import url

NUMBER = re.compile(r"\d{1,15}")


def number_of(request: HttpRequest, name: str) -> int:
    """A count or a moment in the URL; 0 if it is none."""
    given = NUMBER.fullmatch(request.GET.get(name, ""))
    return int(given.group()) if given else 0


def search_progress(
    routes: tuple[str, str],
    filtered: Mapping[str, str],
    found: int,
    seen: int,
    total: int,
    place: str,
    *,
    has_match: bool = False,
) -> dict[str, Any]:
    """What a page says of a search.

    ``routes``: the next step and the page. ``place`` is where the search goes on, empty at its end.
    """
    step, page = routes
    onward = {**filtered, "after": place, "seen": seen, "found": found}
    return {
        "found": found,
        "seen": min(seen, total),
        "total": total,
        "has_match": has_match,
        "step_url": url(step, onward) if place and not has_match else "",
        "next_url": url(page, onward) if place else "",
    }
