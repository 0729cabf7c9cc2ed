"""Login and logout: Django's views, with a limit on failed attempts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import logout as end_session
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.db import OperationalError, ProgrammingError, connections, router
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console.access import login_url
from console.access.login_throttle import Attempt
from console.models import LoginThrottle
from console.ui.links import url
from console.ui.render import Frame, page


class Login(LoginView):
    """Django's login; after too many failures by name or by address the user must wait (429)."""

    template_name = "console/login.html"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Redirect to the project's own login page, if it has one: it may ask for more than a password."""
        if login_url.is_ours() or request.user.is_authenticated:
            return super().dispatch(request, *args, **kwargs)
        return redirect(login_url.address(request, self.get_redirect_url() or url("overview")))

    def get_default_redirect_url(self) -> str:
        """The overview."""
        return url("overview")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The form's context, with the frame of the console."""
        return super().get_context_data(frame=Frame(self.request), request=self.request, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count the attempt; refuse it before the password is checked if the budget is used up."""
        try:
            self._attempt = Attempt(request)
        except (OperationalError, ProgrammingError):
            if not _lacks_tables():
                raise
            title = _("The tables of the console are missing")
            text = _("No migration has made them in the database. Run `manage.py migrate`, then try again.")
            return page(request, "failure/page.html", {"title": title, "text": text, "status": 503}, status=503)
        if seconds := self._attempt.wait_seconds:
            text = _("Wait %(seconds)d seconds, then try again.") % {"seconds": seconds}
            context = {"title": _("Too many failed logins"), "text": text, "status": 429}
            response = page(request, "failure/page.html", context, status=429)
            response["Retry-After"] = str(seconds)
            return response
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Give the attempt back, as it was successful."""
        response = super().form_valid(form)
        self._attempt.succeeded(self.request, response)
        return response


def _lacks_tables() -> bool:
    """Whether the table of attempts is missing. Within a transaction, this cannot be asked after an error."""
    connection = connections[router.db_for_write(LoginThrottle)]
    return not connection.in_atomic_block and LoginThrottle._meta.db_table not in connection.introspection.table_names()


login = Login.as_view()


def logout(request: HttpRequest) -> HttpResponse:
    """End the session and go to the login page, or to the project's page after logout."""
    end_session(request)
    return redirect(settings.LOGOUT_REDIRECT_URL or ("console:login" if login_url.is_ours() else settings.LOGIN_URL))
