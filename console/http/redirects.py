"""Redirect after a form: to the page that sent it, if that page is on the same site."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

from console.ui.links import url


def address(request: HttpRequest, otherwise: str) -> str:
    """The form's `next`, or the page named `otherwise`."""
    wanted = request.POST.get("next", "")
    hosts = {request.get_host()}
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, hosts, require_https=request.is_secure()):
        return wanted
    return url(otherwise)


def back(request: HttpRequest, otherwise: str) -> HttpResponse:
    """A redirect to that address."""
    return redirect(address(request, otherwise))
