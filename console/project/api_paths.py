"""Middleware of pages, which spares the HTTP API: its clients are programs that send thousands of requests a second."""

from __future__ import annotations

from csp.middleware import CSPMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

API = "/api/v1/"


class DocumentPolicy(CSPMiddleware):
    """The content security policy of what a browser shows. JSON is no document, and has none."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Set the header."""
        is_json = response.headers.get("Content-Type", "").startswith(("application/json", "application/problem+json"))
        return response if is_json else super().process_response(request, response)


class PageLanguage(LocaleMiddleware):
    """The language of pages. The API has one language, so its answers do not vary by it."""

    def process_request(self, request: HttpRequest) -> None:
        """Choose the language of the browser or of the user."""
        if request.path_info.startswith(API):
            translation.deactivate()
        else:
            super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Say by what the answer varies."""
        return response if request.path_info.startswith(API) else super().process_response(request, response)
