"""The app of the marks."""

from __future__ import annotations

from django.apps import AppConfig


class OnceConfig(AppConfig):
    """Has the table of the marks."""

    name = "queueops.contrib.once"
    label = "queueops_once"
    verbose_name = "QueueOps once"
    default_auto_field = "django.db.models.BigAutoField"
