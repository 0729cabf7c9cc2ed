"""Security headers: set on every answer of the console, in any project."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils.cache import patch_vary_headers

from console.ui.static_files import origin

POLICY = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
FROM_STATIC = ("script-src", "style-src", "img-src")
"""What the project may serve from another host, if its STATIC_URL names one."""


def policy(host: str = "") -> str:
    """The Content-Security-Policy: no inline code, and no other host except that of the project's static files."""
    wider = {name: f"{sources} {host}" for name, sources in POLICY.items() if host and name in FROM_STATIC}
    return "; ".join(f"{name} {sources}" for name, sources in (POLICY | wider).items())


HEADERS = {
    "Content-Security-Policy": policy(),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store, private",  # pages show arguments and results
}


def protect(response: HttpResponseBase) -> HttpResponseBase:
    """Set the headers; a looser policy of the project does not apply to the console."""
    for name, value in (HEADERS | {"Content-Security-Policy": policy(origin())}).items():
        response[name] = value
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    return response
