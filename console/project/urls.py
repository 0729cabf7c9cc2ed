"""URLs of the stand-alone project: the console at /ops/, and the HTTP API of jobs if it is switched on."""

from __future__ import annotations

from django.conf import settings
from django.urls import include, path
from django.views.generic import RedirectView

handler500 = "console.http.error_pages.server_error"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="console:overview")),
    path("ops/", include("console.urls")),
]
if getattr(settings, "SERVE_API", False):
    urlpatterns.append(path("api/v1/", include("queueops.kinds.jobs.api.urls")))
if getattr(settings, "SERVE_CLASSIC_API", False):
    urlpatterns.append(path("", include("queueops.kinds.jobs.api.classic_urls")))
