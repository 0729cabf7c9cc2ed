"""The headers that every answer of the console carries, whatever project it lives in."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils.cache import patch_vary_headers

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store, private",  # pages show arguments and results
}


def protect(response: HttpResponseBase) -> HttpResponseBase:
    """Set the headers; a looser policy of the project around does not apply to the console."""
    for name, value in HEADERS.items():
        response[name] = value
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    return response
