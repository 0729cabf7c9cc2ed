"""Compression of pages: gzip for browsers that accept it, in any project.

A page of charts has about 150 kB of text, and a twelfth of that compressed. Django adds a part of random length to each
answer, so that its size tells nothing of a secret beside reflected text.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

SHOWN = ("text/html", "application/json")
_GZIP = GZipMiddleware(lambda _request: HttpResponse())


def compressed(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The answer, compressed if it is a page, a fragment or their data; downloads and streams stay as they are."""
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if isinstance(response, HttpResponse) and kind in SHOWN and "Content-Disposition" not in response.headers:
        return _GZIP.process_response(request, response)
    return response
