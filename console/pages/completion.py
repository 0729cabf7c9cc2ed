"""Options of the search line of tasks, which its script asks for while a user writes."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from console.ui.completion import options
from console.ui.render import page
from queueops.inspect.filter_text import LONGEST


def complete(request: HttpRequest) -> HttpResponse:
    """The options for the text before the cursor."""
    return page(request, "tasks/options.html", {"options": options(request.GET.get("text", "")[:LONGEST])})
