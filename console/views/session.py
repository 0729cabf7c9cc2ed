"""Logging in and out: Django's own, with a limit on failures."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import logout as end_session
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from console.page import Frame, page
from console.throttle import failed, wait_seconds


class Login(LoginView):
    """Django's login; who failed too often, by name or by address, waits (429)."""

    template_name = "console/login.html"
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        """To the overview."""
        return reverse("console:overview")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The frame of the console around the form."""
        return super().get_context_data(frame=Frame(self.request), request=self.request, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Refuse before the password is looked at."""
        if seconds := wait_seconds(request):
            text = _("Too many failed logins. Wait %(seconds)d seconds.") % {"seconds": seconds}
            response = page(request, "failure/page.html", {"title": _("Wait"), "text": text, "status": 429}, status=429)
            response["Retry-After"] = str(seconds)
            return response
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Count the failure."""
        failed(self.request)
        return super().form_invalid(form)


login = Login.as_view()


def logout(request: HttpRequest) -> HttpResponse:
    """End the session."""
    end_session(request)
    return redirect("console:login")
