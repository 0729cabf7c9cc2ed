"""The addresses of a running demo: the slider, then all of the stand-alone project's."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("ops/demo/", include("console.demo.urls")), path("", include("console.project.urls"))]
