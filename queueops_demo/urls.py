"""URLs of the demo; included before the console's, which match all other paths."""

from __future__ import annotations

from django.urls import path

from console.access.guard import guarded
from console.access.permissions import TABLE, Verb
from queueops_demo import views

TABLE.update({"demo": Verb.VIEW, "demo-report": Verb.SEE_ARGUMENTS, "demo-pace": Verb.CONFIGURE})

app_name = "demo"

urlpatterns = [
    path("", guarded("demo", views.show), name="demo"),
    path("reports/<int:pk>/", guarded("demo-report", views.report), name="demo-report"),
    path("_pace", guarded("demo-pace", views.set_pace), name="demo-pace"),
]
