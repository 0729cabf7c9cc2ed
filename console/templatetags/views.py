"""Template tags of views on lists: saved views in the navigation, and the menus that save and export a list."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.http import urlencode

from console.access.permissions import Verb
from console.pages.export import exports
from console.pages.views import in_navigation
from console.ui.links import url
from console.ui.render import request_match
from queueops.inspect import TaskQuery

register = template.Library()


@register.inclusion_tag("console/views/save.html", takes_context=True)
def save_menu(context: Context) -> dict[str, Any]:
    """The form that saves the filter of the task list as a view."""
    request, query = context["request"], context.get("query")
    shown = getattr(request_match(request), "url_name", "") == "tasks" and isinstance(query, TaskQuery)
    return {
        "shown": shown and not context.get("error"),
        "query": urlencode(query.params()) if shown and query else "",
        "next": request.get_full_path(),
        "may_share": Verb.SHARE in (context.get("may") or ()),
        "csrf_token": context.get("csrf_token"),
    }


@register.simple_tag(takes_context=True)
def saved_views(context: Context) -> str:
    """The links of the views in the navigation. A page of an error reads no counts: the store may be away."""
    request = context["request"]
    if Verb.VIEW not in (context.get("may") or ()):
        return ""
    views = in_navigation(request, counted=not isinstance(context.get("status"), int))
    return render_to_string("console/views/navigation.html", {"views": views, "here": request.get_full_path()})


@register.inclusion_tag("console/export/links.html", takes_context=True)
def export_menu(context: Context) -> dict[str, Any]:
    """The links that export the list that the page shows; none without the permission."""
    request = context["request"]
    name = getattr(request_match(request), "url_name", "") or ""
    if not {Verb.VIEW, Verb.EXPORT}.issubset(context.get("may") or ()):
        return {"links": ()}
    if name in exports():
        asked = request.GET.dict() | {"after": ""}
        ways = (("CSV", "csv"), ("NDJSON", "ndjson"))
        return {"links": [(label, url("export", asked | {"format": way}, list=name)) for label, way in ways]}
    return {"links": ()}
