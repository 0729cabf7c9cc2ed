"""The demo as a Django app of the stand-alone project."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DemoConfig(AppConfig):
    """Brings the sample tasks, a table for their results, and the page with the slider."""

    name = "console.demo"
    label = "demo"
    verbose_name = _("Demo")
    default_auto_field = "django.db.models.BigAutoField"
