"""Template tags of views on lists: the menu that exports the list of a page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context

from console.access.permissions import Verb
from console.pages.export import exports
from console.ui.links import url
from console.ui.render import request_match

register = template.Library()


@register.inclusion_tag("console/export/links.html", takes_context=True)
def export_menu(context: Context) -> dict[str, Any]:
    """The links that export the list, or the task, that the page shows; none without the permission."""
    request, found = context["request"], request_match(context["request"])
    name = getattr(found, "url_name", "") or ""
    if not {Verb.VIEW, Verb.EXPORT}.issubset(context.get("may") or ()):
        return {"links": ()}
    if name in exports():
        asked = request.GET.dict() | {"after": ""}
        ways = (("CSV", "csv"), ("NDJSON", "ndjson"))
        return {"links": [(label, url("export", asked | {"format": way}, list=name)) for label, way in ways]}
    if name == "task":
        pool = request.GET.get("pool", "")
        return {"links": [("JSON", url("task-export", {"pool": pool}, id=found.kwargs["id"]))]}
    return {"links": ()}
