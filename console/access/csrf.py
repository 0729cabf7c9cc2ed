"""CSRF protection of the console's views, inside the view: the answer to a refusal has the console's headers too.

The console's views are marked as exempt, so the project's CSRF middleware skips them. It still checks all other views.
"""

from __future__ import annotations

import logging
from typing import Any

from django.conf import global_settings, settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.urls import get_callable
from django.utils.decorators import decorator_from_middleware
from django.utils.log import log_response

from console.access import denials
from console.http import error_pages

logger = logging.getLogger("django.security.csrf")


class CsrfProtection(CsrfViewMiddleware):
    """Django's CSRF check; a refusal gets the console's page unless the project has its own."""

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:
        match = request.resolver_match
        if match is not None and match.url_name is not None:
            denials.record(request, match.url_name, f"CSRF: {reason}", match.kwargs)
        is_own = settings.CSRF_FAILURE_VIEW != global_settings.CSRF_FAILURE_VIEW
        view: Any = get_callable(settings.CSRF_FAILURE_VIEW) if is_own else error_pages.csrf_failure
        response: HttpResponse = view(request, reason=reason)
        log_response(
            "Forbidden (%s): %s", reason, request.path, response=response, request=request, logger=logger
        )  # as in Django
        return response


csrf_protected = decorator_from_middleware(CsrfProtection)
