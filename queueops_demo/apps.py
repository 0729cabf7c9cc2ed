"""The demo as a Django app of the stand-alone project."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DemoConfig(AppConfig):
    """The sample tasks, the tables of their results, and the page with the rate slider."""

    name = "queueops_demo"
    label = "demo"
    verbose_name = _("Demo")
    default_auto_field = "django.db.models.BigAutoField"
