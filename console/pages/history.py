"""History region: the charts of a page, refreshed live on its own, once a minute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from console.ui.render import fragment, live_update
from queueops import inspect

READING_AGE_S = 15.0
"""So old the figures of a chart may be: a history gets a step a minute, and many open pages share a reading."""
RANGES = ("1h", "24h", "14d")
LABELS = {"1h": _("1 hour"), "24h": _("24 hours"), "14d": _("14 days")}
OF = ("pool", "lane", "name", "state")
"""What a region may be of; the parameters of its URL."""


def live(request: HttpRequest) -> HttpResponse:
    """The live update of a region, when a step has been added."""
    return fragment(request, "history/region.html", region(request.GET, {}))


def region(query: Mapping[str, str], of: Mapping[str, str]) -> dict[str, Any]:
    """The context of a region: what it is `of`, or else what the query says."""
    chosen = query.get("range", "")
    chosen = chosen if chosen in RANGES else "24h"
    asked = {key: value for key in OF if (value := of.get(key, "") if of else query.get(key, ""))}
    if sum(key in asked for key in OF[1:]) > 1:
        raise Http404
    pool, lane, name, state = (asked.get(key, "") for key in OF)
    series = inspect.series(chosen, pool=pool, lane=lane, name=name, state=state, max_age_s=READING_AGE_S)
    update = live_update(reverse("console:history-live"), series, range=chosen, **asked)
    links = [(word, LABELS[word], word == chosen) for word in RANGES]
    return {"series": series, "ranges": links, **update}
