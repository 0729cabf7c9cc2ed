"""URLs of a project whose console shows another store, too."""

from __future__ import annotations

from django.urls import include, path

from console.urls import PAGES, of_stores

urlpatterns = [path("ops/", include([*of_stores(["eu"]), path("", include((PAGES, "console")))]))]
