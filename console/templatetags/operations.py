"""Template tag of the bulk actions that workers perform: a bar for each, in the head of every page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import template
from django.http import HttpRequest
from django.template.context import Context

from console.actions.operations import running, version_of_running
from console.ui.links import url

register = template.Library()


@register.inclusion_tag("console/partials/operations.html", takes_context=True)
def operation_bars(context: Context, rows: Any) -> dict[str, Any]:
    """A bar for each of these, with the buttons that the user may press."""
    request = context["request"]
    return {
        "rows": rows,
        "request": request,
        "may": context["may"],
        "here": _page(request),
        "csrf_token": context.get("csrf_token"),
    }


def _page(request: HttpRequest) -> str:
    """The page that shows the bars: of a live update the one that asked; of a form that was sent the audit log."""
    if sent := request.headers.get("HX-Current-URL"):
        return urlsplit(sent)._replace(scheme="", netloc="", fragment="").geturl()
    return request.get_full_path() if request.method == "GET" else url("audit")


@register.simple_tag(takes_context=True)
def this_page(context: Context) -> str:
    """The page to which a form of the head leads back."""
    return _page(context["request"])


@register.simple_tag(takes_context=True)
def running_operations(context: Context) -> dict[str, Any]:
    """The bulk actions that run now, and a version that changes with them."""
    rows = running(context["request"])
    return {"rows": rows, "version": version_of_running(rows)}
