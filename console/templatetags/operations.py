"""Template tag of the bulk actions that workers perform: a bar for each, in the head of every page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context

from console.actions.operations import running, version_of_running

register = template.Library()


@register.inclusion_tag("console/partials/operations.html", takes_context=True)
def operation_bars(context: Context, rows: Any) -> dict[str, Any]:
    """A bar for each of these."""
    return {"rows": rows, "request": context["request"]}


@register.simple_tag(takes_context=True)
def running_operations(context: Context) -> dict[str, Any]:
    """The bulk actions that run now, and a version that changes with them."""
    rows = running(context["request"])
    return {"rows": rows, "version": version_of_running(rows)}
