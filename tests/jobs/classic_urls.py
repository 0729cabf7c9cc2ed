"""URLs of a project that serves the classic routes."""

from django.urls import include, path

urlpatterns = [path("", include("queueops.kinds.jobs.api.classic_urls"))]
