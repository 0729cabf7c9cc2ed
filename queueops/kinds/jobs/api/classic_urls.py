"""Classic URLs, at the root of a host: `path("", include("queueops.kinds.jobs.api.classic_urls"))`."""

from __future__ import annotations

from django.urls import path

from queueops.kinds.jobs.api import classic_views

urlpatterns = [
    path("download", classic_views.download),
    path("retry/<str:id>", classic_views.retry),
    path("retry/", classic_views.retry, {"id": ""}),
    path("hb", classic_views.heartbeat),
    path("stats/<str:part>", classic_views.statistics),
    path("dashboard/aggregations", classic_views.aggregations),
]
