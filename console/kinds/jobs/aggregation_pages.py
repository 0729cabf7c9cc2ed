"""Aggregation pages: aggregations and destinations of callbacks, with their limits and their tasks by state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.perform import answer, perform
from console.actions.selection import Thing
from console.http import redirects
from console.ui.forms import ActionForm, LaneForm
from console.ui.links import url
from console.ui.render import fragment, live_update, page
from queueops import control, inspect
from queueops.errors import advice
from queueops.inspect import FilterError, JobLane, JobLanePage
from queueops.inspect.export import pages_of
from queueops.model.explained import explained

FACTS = ("pool", "lane", "id", "limit", "rate", "weight", "paused", "draining", "proxy")


class ProxyForm(ActionForm):
    """The proxy of the downloads of an aggregation."""

    proxy = forms.CharField(
        label=_("Proxy"), max_length=2000, required=False, widget=forms.TextInput({"class": "form-control"})
    )


ACTIONS: dict[str, Action] = {
    "pause": Action("pause", lambda pool, lane, **how: control.pause_lane(pool, lane), url="aggregation-pause"),
    "resume": Action("resume", lambda pool, lane, **how: control.resume_lane(pool, lane), url="aggregation-resume"),
    "drain": Action(
        "drain_aggregation",
        lambda pool, id, **how: control.drain_aggregation(id, pool),
        _("Drain"),
        "door-exit",
        asks_first=True,
        note=_("The aggregation takes no more jobs. Those that are there run to their end. Clients get an error."),
        url="aggregation-drain",
    ),
    "accept": Action(
        "accept_jobs",
        lambda pool, id, **how: control.accept_jobs(id, pool),
        _("Accept jobs"),
        "player-play",
        url="aggregation-accept",
    ),
    "proxy": Action(
        "set_proxy",
        lambda pool, id, *, who, proxy: control.set_proxy(id, proxy, pool),
        _("Set the proxy"),
        "route",
        ProxyForm,
        asks_first=True,
        note=_("The downloads of the aggregation use this proxy from their next attempt on. Empty: no proxy."),
        url="aggregation-proxy",
    ),
    "remove": Action(
        "delete_aggregation",
        lambda pool, id, **how: control.delete_aggregation(id, pool),
        _("Delete"),
        "trash",
        irreversible=True,
        note=_("Deletes limit, rate and proxy of an aggregation without jobs. Its next job creates it again."),
        url="aggregation-remove",
    ),
}
BECOMES: dict[str, dict[str, Any]] = {
    "pause": {"paused": True},
    "resume": {"paused": False},
    "drain": {"draining": True},
    "accept": {"draining": False},
}
"""What changes, where the form does not say it."""
SET = Action(
    "set_lane", lambda pool, lane, *, who, **wanted: control.set_lane(pool, lane, **wanted), url="aggregation-set"
)
OF_AGGREGATIONS = ("drain", "accept", "proxy", "remove")
"""Actions that no destination has."""
DESTINATIONS = "destinations"
"""The value of the parameter `show` for the hosts of callbacks; without one, the page has the aggregations."""


def index(request: HttpRequest) -> HttpResponse:
    """One page of the aggregations, or of the destinations."""
    context = _context(request)
    return page(request, "jobs/aggregations.html", context, status=400 if context["fault"] else 200)


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the page."""
    return fragment(request, "jobs/aggregation_rows.html", _context(request))


def act(request: HttpRequest, pool: str, lane: str, verb: str) -> HttpResponse:
    """Pause an aggregation or a destination, or resume it."""
    return answer(request, ACTIONS[verb], _thing(pool, lane, **BECOMES[verb]), "aggregations")


def act_on_aggregation(request: HttpRequest, pool: str, lane: str, verb: str) -> HttpResponse:
    """Drain an aggregation, let it accept jobs, change its proxy, or delete it: by its id, not by its lane."""
    thing = _thing(pool, lane, **BECOMES.get(verb, {}))
    named = Thing.named(pool, thing.was["id"], thing.was, thing.becomes)
    return answer(request, ACTIONS[verb], named, "aggregations")


def change(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """Set limit, rate and weight."""
    form = LaneForm(request.POST)
    if not form.is_valid():
        context = _context(request) | {"wrong": form, "wrong_lane": lane}
        return page(request, "jobs/aggregations.html", context, status=422)
    perform(request, SET, _thing(pool, lane, **form.cleaned_data), form.cleaned_data)
    return redirects.back(request, "aggregations")


def _thing(pool: str, lane: str, **changed: Any) -> Thing:
    """The lane with its facts, and those that change; 404 without it."""
    was = inspect.job_lane(lane, pool)
    if was is None:
        raise Http404
    facts = {name: getattr(was, name) for name in FACTS}
    return Thing.named(pool, lane, facts, facts | changed)


def pages(params: Mapping[str, Any]) -> Iterator[Sequence[JobLane]]:
    """All aggregations, or all destinations, page by page. Raises FilterError."""
    return pages_of(lambda after: _lanes(params.get("show", ""), after))


def _lanes(show: str, after: str) -> JobLanePage:
    if show not in ("", DESTINATIONS):
        raise FilterError(reason=f"there is no list {show!r} of lanes{advice(show, [DESTINATIONS])}")
    return inspect.destinations(after=after) if show else inspect.aggregations(after=after)


def _context(request: HttpRequest) -> dict[str, Any]:
    show, after, fault = request.GET.get("show", ""), request.GET.get("after", ""), ""
    try:
        found = _lanes(show, after)
    except FilterError as error:
        found, fault = JobLanePage(rows=()), explained(error)
    return {
        "show": show,
        "maintenance": inspect.maintenance(),
        "full_disks": inspect.full_disks(),
        "found": found,
        "fault": fault,
        "here": url("aggregations", {"show": show, "after": after}),
        "first_url": url("aggregations", {"show": show}) if after else "",
        "next_url": url("aggregations", {"show": show, "after": found.next}) if found.next else "",
        **live_update(url("aggregations-rows"), show, after, found, show=show, after=after),
    }
