"""HEAD requests: answered as a GET without its body. Load balancers ask so whether a server is well."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

View = Callable[..., HttpResponse]


def as_get(view: View) -> View:
    """The same view, which meets a HEAD as a GET. The answer keeps its headers, with the length of the body."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **given: Any) -> HttpResponse:
        if request.method != "HEAD":
            return view(request, *args, **given)
        request.method = "GET"
        try:
            found = view(request, *args, **given)
        finally:
            request.method = "HEAD"
        found["Content-Length"] = str(len(found.content))
        found.content = b""
        return found

    return answered
