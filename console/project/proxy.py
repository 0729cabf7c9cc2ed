"""Client address behind a proxy: `QUEUEOPS_BEHIND_PROXY` takes it from the proxy's `X-Real-IP`."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

HEADER = "HTTP_X_REAL_IP"


def real_address(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: the audit log and the login throttle see the client instead of the proxy."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if address := request.META.get(HEADER):
            request.META["REMOTE_ADDR"] = address
        return get_response(request)

    return middleware
