"""Saved views: filters of the task list under a name, for their owner or for all users."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.access.permissions import Verb, granted
from console.audit.log import recorded
from console.http import redirects
from console.models import SavedView
from console.ui import filters
from console.ui.links import url
from console.ui.notices import notice
from console.ui.render import page
from queueops import inspect
from queueops.errors import FilterError, QueueOpsError
from queueops.inspect import Count, TaskQuery
from queueops.model.explained import explained

MOST = 20
"""The views of the navigation."""
MOST_OF_A_USER = 100
COUNTED_EVERY_S = 5.0


class ViewForm(forms.Form):
    """The name of a view, and whether all users have it."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=80)
    shared = forms.BooleanField(required=False)


class Shown(msgspec.Struct, frozen=True):
    """A view in the navigation, with its count if one is known."""

    name: str
    url: str
    shared: bool
    count: Count | None = None


def index(request: HttpRequest) -> HttpResponse:
    """The user's own views and the shared ones, to rename or to delete."""
    may = granted(request.user)
    rows = [(view, address(view), may_change(view, request)) for view in visible(request)]
    return page(request, "views/page.html", {"rows": rows, "may_share": Verb.SHARE in may})


def save(request: HttpRequest) -> HttpResponse:
    """Save the filter that the form has, under a name."""
    form = ViewForm(request.POST)
    try:
        query = TaskQuery.from_params(dict(parse_qsl(request.POST.get("query", ""))))
    except FilterError as error:
        raise SuspiciousOperation(explained(error)) from error
    if not form.is_valid():
        notice(request, messages.ERROR, _("Give the view a name of at most 80 characters."))
        return redirects.back(request, "tasks")
    values = form.cleaned_data
    if values["shared"] and Verb.SHARE not in granted(request.user):
        raise PermissionDenied
    if SavedView.objects.filter(owner=request.user.pk).count() >= MOST_OF_A_USER:
        notice(request, messages.ERROR, _("You have %(n)d views. Delete one of them first.") % {"n": MOST_OF_A_USER})
        return redirects.back(request, "tasks")
    after = {"filter": query.params(), "shared": values["shared"]}
    _kept(request, "save_view", SavedView(owner_id=request.user.pk, query=query.params(), **values), {}, after)
    return redirects.back(request, "tasks")


def rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a view another name."""
    view, form = _own(request, pk), ViewForm(request.POST)
    if form.is_valid():
        before, view.name = {"name": view.name}, form.cleaned_data["name"]
        _kept(request, "rename_view", view, before, {"name": view.name})
    else:
        notice(request, messages.ERROR, _("Give the view a name of at most 80 characters."))
    return redirect(url("views"))


def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a view. The tasks stay."""
    view = _own(request, pk)
    with recorded(request, "delete_view", view.name, before={"filter": view.query, "shared": view.shared}):
        view.delete()
    notice(request, messages.SUCCESS, _("Deleted the view %(name)s.") % {"name": view.name})
    return redirect(url("views"))


def visible(request: HttpRequest) -> QuerySet[SavedView]:
    """The views that the user sees."""
    return SavedView.objects.filter(Q(owner=request.user.pk) | Q(shared=True))


def may_change(view: SavedView, request: HttpRequest) -> bool:
    """Whether the user may rename and delete the view: its owner, or for a shared one who may share views."""
    return view.owner_id == request.user.pk or (view.shared and Verb.SHARE in granted(request.user))


def address(view: SavedView) -> str:
    """The URL of the list with the filter."""
    return filters.address(_filter(view))


def in_navigation(request: HttpRequest, *, counted: bool) -> list[Shown]:
    """The views with their counts, which cost one round trip for all of them."""
    views = list(visible(request)[:MOST])
    counts = _counts([_filter(view) for view in views]) if views and counted else [None] * len(views)
    return [Shown(view.name, address(view), view.shared, count) for view, count in zip(views, counts, strict=True)]


def _counts(queries: Sequence[TaskQuery]) -> Sequence[Count | None]:
    """The counts that say something: none of the first candidates may match although others do."""
    with suppress(QueueOpsError):  # the page itself tells of an outage
        found = inspect.counts(queries, COUNTED_EVERY_S)
        return [count if count and (count.exact or count.number) else None for count in found]
    return [None] * len(queries)


def _filter(view: SavedView) -> TaskQuery:
    """The filter; that of all tasks, if this version cannot read it."""
    with suppress(FilterError):
        return TaskQuery.from_params(view.query)
    return TaskQuery()


def _own(request: HttpRequest, pk: int) -> SavedView:
    view = get_object_or_404(visible(request), pk=pk)
    if not may_change(view, request):
        raise PermissionDenied
    return view


def _kept(request: HttpRequest, verb: str, view: SavedView, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Write the view and the audit entry; a name that the owner has already is refused."""
    if SavedView.objects.filter(owner=view.owner_id, name=view.name).exclude(pk=view.pk).exists():
        notice(
            request, messages.ERROR, _("You have a view %(name)s already. Choose another name.") % {"name": view.name}
        )
        return
    with recorded(request, verb, view.name, before=before, after=after):
        view.save()
    notice(request, messages.SUCCESS, _("Saved the view %(name)s.") % {"name": view.name})
