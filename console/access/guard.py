"""Access control of every view: checks user, method and permission first, and sets headers afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import wraps
from time import monotonic
from typing import Any, cast

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import connections
from django.db.transaction import non_atomic_requests
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.utils import timezone, translation
from django_htmx.middleware import HtmxDetails

from console.access import denials, login_url
from console.access.csrf import csrf_protected
from console.access.headers import protect
from console.access.permissions import TABLE, TAKING_ARGUMENTS, Verb, changes, granted
from console.access.pools import granted_somewhere, permits
from console.http import error_pages
from console.http.compression import compressed
from console.ui.language import spoken
from console.ui.links import one_scope, url
from console.ui.preferences import Preferences
from queueops import conf
from queueops.errors import BrokenPool, BrokerUnavailable, EmbeddedFailed, StoreFull
from queueops.errors.kinds import NotOffered
from queueops.errors.refusals import LibraryRefused
from queueops.inspect.redaction import concealing
from queueops.inspect.store import one_pool_list

View = Callable[..., HttpResponseBase]

READING = ("GET", "HEAD")
METHODS = {
    "login": ("GET", "HEAD", "POST"),
    "logout": ("POST",),
    "settings-save": ("POST",),
    "audit-dismiss": ("POST",),
    "export": ("GET",),
    **dict.fromkeys(("view-save", "view-rename", "view-delete"), ("POST",)),
}


def guarded(name: str, view: View) -> View:
    """Wrap the view of the URL `name`: only users with the permission in `console.access.permissions` may call it.

    Requests are never atomic: an audit entry must stay when the action fails.
    """
    verb = TABLE[name]
    methods = METHODS.get(name, ("POST",) if changes(name) else READING)

    def answer(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if verb is not None and not request.user.is_authenticated:
            return _to_login(request)
        if request.method not in methods:
            return error_pages.not_allowed(request, methods)
        if verb is not None and not permits(request, name, kwargs, verb):
            return _denied(request, name, kwargs, verb)
        if name in TAKING_ARGUMENTS and Verb.SEE_ARGUMENTS not in granted(request.user):
            return _denied(request, name, kwargs)
        return _run(view, request, name, kwargs)

    checked = csrf_protected(answer)

    @wraps(view)
    def guarded_view(request: HttpRequest, store: str = "", **kwargs: Any) -> HttpResponseBase:
        request.began = monotonic()  # type: ignore[attr-defined]
        with (
            conf.in_store(store),
            timezone.override(Preferences.of(request).zone_name),
            translation.override(spoken(request)),
            one_scope(),
        ):
            with concealing(Verb.SEE_ARGUMENTS not in granted(request.user)), _reading(request):
                response = _checked(checked, request, kwargs)
                if isinstance(response, SimpleTemplateResponse):
                    response.render()  # render here, while the console's time zone and language are still active
            return protect(compressed(request, _kept_there(response)))

    guarded_view.login_required = False  # type: ignore[attr-defined]  # LoginRequiredMiddleware: it is asked for here
    guarded_view.csrf_exempt = True  # type: ignore[attr-defined]  # CsrfViewMiddleware: `checked` does the same, inside
    for alias in connections:
        non_atomic_requests(using=alias)(guarded_view)
    return guarded_view


def _kept_there(response: HttpResponseBase) -> HttpResponseBase:
    """A stream is read after the view: each step of it runs in the view's own context, so in the same store."""
    if isinstance(response, StreamingHttpResponse) and not response.is_async:
        context, steps = copy_context(), iter(cast("Any", response.streaming_content))
        response.streaming_content = iter(lambda: context.run(next, steps, None), None)
    return response


def _reading(request: HttpRequest) -> AbstractContextManager[None]:
    """A page reads the list of pools once. An action may change it, and then reads it again."""
    return one_pool_list() if request.method in READING else nullcontext()


def _run(view: View, request: HttpRequest, name: str, kwargs: dict[str, Any]) -> HttpResponseBase:
    try:
        return view(request, **kwargs)
    except (BrokerUnavailable, EmbeddedFailed, LibraryRefused, StoreFull) as error:
        return error_pages.unavailable(request, error)
    except BrokenPool as error:
        return error_pages.broken(request, error)
    except NotOffered as error:
        return error_pages.not_offered(request, error)
    except Http404:
        return error_pages.not_found(request)
    except PermissionDenied:
        return _denied(request, name, kwargs)
    except SuspiciousOperation as error:
        return error_pages.bad_request(request, str(error))


def _checked(view: View, request: HttpRequest, kwargs: dict[str, Any]) -> HttpResponseBase:
    """The CSRF check reads the form, which may be larger than the project permits."""
    try:
        return view(request, **kwargs)
    except SuspiciousOperation as error:
        return error_pages.bad_request(request, str(error))


def _denied(request: HttpRequest, name: str, kwargs: dict[str, Any], verb: Verb | None = None) -> HttpResponse:
    in_pools = "" if verb is None or verb not in granted_somewhere(request.user) else " in the pool of the action"
    why = (
        f"needs the permission {verb}{in_pools}"
        if verb and not conf.current().read_only
        else "READ_ONLY"
        if verb
        else ""
    )
    denials.record(request, name, why or "needs another permission", kwargs)
    return error_pages.forbidden(request, verb, in_a_pool=bool(in_pools))


def _to_login(request: HttpRequest) -> HttpResponse:
    if HtmxDetails(request):
        return HttpResponse(status=401, headers={"HX-Refresh": "true"})  # the login replaces the whole page
    back = request.get_full_path() if request.method in READING else url("overview")
    return redirect(login_url.address(request, back))
