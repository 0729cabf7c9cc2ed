"""URLs of a project that serves the API of jobs."""

from django.urls import include, path

urlpatterns = [path("api/v1/", include("queueops.kinds.jobs.api.urls"))]
