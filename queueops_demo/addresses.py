"""URL configuration of a running demo: the demo's pages, then those of the stand-alone project."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("ops/demo/", include("queueops_demo.urls")), path("", include("console.project.urls"))]
