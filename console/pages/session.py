"""Logging in and out: Django's own, with a limit on tries that fail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import logout as end_session
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from console.access import login_url
from console.access.login_throttle import Attempt
from console.ui.render import Frame, page


class Login(LoginView):
    """Django's login; who failed too often, by name or by address, waits (429)."""

    template_name = "console/login.html"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Leave it to the project's own page, where there is one: it may ask for more than a password."""
        if login_url.is_ours() or request.user.is_authenticated:
            return super().dispatch(request, *args, **kwargs)
        return redirect(login_url.address(request, self.get_redirect_url() or reverse("console:overview")))

    def get_default_redirect_url(self) -> str:
        """To the overview."""
        return reverse("console:overview")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The frame of the console around the form."""
        return super().get_context_data(frame=Frame(self.request), request=self.request, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count the try, and refuse it before the password is checked."""
        self._attempt = Attempt(request)
        if seconds := self._attempt.wait_seconds:
            text = _("Wait %(seconds)d seconds, then try again.") % {"seconds": seconds}
            context = {"title": _("Too many failed logins"), "text": text, "status": 429}
            response = page(request, "failure/page.html", context, status=429)
            response["Retry-After"] = str(seconds)
            return response
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """A success does not count as a try."""
        response = super().form_valid(form)
        self._attempt.succeeded(self.request, response)
        return response


login = Login.as_view()


def logout(request: HttpRequest) -> HttpResponse:
    """End the session, and say so where one logs in, or where the project wants it."""
    end_session(request)
    return redirect(settings.LOGOUT_REDIRECT_URL or ("console:login" if login_url.is_ours() else settings.LOGIN_URL))
