"""URLs of the API: `path("api/v1/", include("queueops.kinds.jobs.api.urls"))`."""

from __future__ import annotations

from queueops.kinds.jobs.api.application import api

urlpatterns = api.urls[0]
app_name = api.urls_namespace
