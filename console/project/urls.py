"""URLs of the stand-alone project: the console at /ops/."""

from __future__ import annotations

from django.urls import include, path
from django.views.generic import RedirectView

handler500 = "console.http.error_pages.server_error"

urlpatterns = [
    path("", RedirectView.as_view(url="/ops/")),
    path("ops/", include("console.urls")),
]
