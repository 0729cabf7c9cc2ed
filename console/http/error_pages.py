"""Error pages: they say what is wrong and what to do, without internal details."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from console.access.headers import protect
from console.access.permissions import CHANGING, Verb
from console.ui.render import page
from queueops import conf
from queueops.errors import QueueOpsError, StoreFull
from queueops.errors.refusals import LibraryRefused
from queueops.model.explained import explained

RETRY_AFTER = "5"


def not_found(request: HttpRequest, text: str = "") -> HttpResponse:
    """404: the page, task, error or entry does not exist."""
    text = text or _("Nothing exists at this address. A task disappears when it is deleted or its retention ends.")
    return _failure(request, 404, _("Not found"), text)


def forbidden(request: HttpRequest, verb: Verb | None = None, *, in_a_pool: bool = False) -> HttpResponse:
    """403: the user lacks the permission, or has it only in other pools; or the console is read-only."""
    if verb in CHANGING and conf.current().read_only:
        return _failure(request, 403, _("Read-only"), _("The console changes nothing: the setting READ_ONLY is on."))
    text = _("Your account does not have the permission “%(verb)s”. An administrator can give it to you.")
    if in_a_pool:
        text = _(
            "Your account has the permission “%(verb)s” only in some pools. For all that match, filter by one of these"
            " pools first. Nothing was changed."
        )
    elif verb is None:
        text = _("Your account does not have the permission for this. An administrator can give it to you.")
    return _failure(request, 403, _("Not allowed"), text % {"verb": verb})


def not_allowed(request: HttpRequest, methods: Sequence[str]) -> HttpResponse:
    """405: the address of an action was opened by GET, or a page was sent a POST."""
    text = _("This address is an action, not a page. Nothing was changed. Go back and start the action again.")
    response = _failure(request, 405, _("Not a page"), text)
    response["Allow"] = ", ".join(methods)
    return response


def bad_request(request: HttpRequest, text: str) -> HttpResponse:
    """400: the request holds an invalid value."""
    return _failure(request, 400, _("Invalid request"), text)


def unavailable(request: HttpRequest, error: QueueOpsError) -> HttpResponse:
    """503: Redis does not answer, or refuses writes. Fragments get a line of text, pages a page."""
    if HtmxDetails(request):
        response = HttpResponse(_title(error), status=503, content_type="text/plain; charset=utf-8")
    else:
        response = _failure(request, 503, _title(error), _told(error))
    response["Retry-After"] = RETRY_AFTER
    return response


def broken(request: HttpRequest, error: QueueOpsError) -> HttpResponse:
    """503: a foreign program wrote to a key of the pool that this request uses."""
    if HtmxDetails(request):
        return HttpResponse(_told(error), status=503, content_type="text/plain; charset=utf-8")
    return _failure(request, 503, _("A pool is broken"), _told(error))


def not_offered(request: HttpRequest, error: QueueOpsError) -> HttpResponse:
    """501: the store of the setting STORE leaves out what this page needs."""
    if HtmxDetails(request):
        return HttpResponse(explained(error), status=501, content_type="text/plain; charset=utf-8")
    return _failure(request, 501, _("Not offered by the store"), explained(error))


def server_error(request: HttpRequest) -> HttpResponseBase:
    """500, as the project's `handler500`: works without the database, the session and Redis."""
    return protect(HttpResponse(render_to_string("console/failure/500.html"), status=500))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403, as the project's `CSRF_FAILURE_VIEW`."""
    text = _("The form was too old or came from another site. Go back, reload the page, and send it again.")
    response = _failure(request, 403, _("Not accepted"), text)
    protect(response)
    return response


def _told(error: QueueOpsError) -> str:
    return conf.redactor().text(explained(error))


def _title(error: QueueOpsError) -> str:
    if isinstance(error, LibraryRefused):
        return _("The store refuses the Lua library")
    return _("The store is full") if isinstance(error, StoreFull) else _("The store is unreachable")


def _failure(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    return page(request, "failure/page.html", {"title": title, "text": text, "status": status}, status=status)
