"""The console as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.utils.translation import gettext_lazy as _


class ConsoleConfig(AppConfig):
    """`INSTALLED_APPS = [..., "queueops", "console"]` and `path("ops/", include("console.urls"))` are all it needs."""

    name = "console"
    label = "queueops_console"  # `console` may be an app of the project
    verbose_name = _("Operations console")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks of the project that the console lives in, and keep a trace of its operators' commands."""
        from console.audit.cli import keep
        from console.checks import check_project
        from queueops.management.queue import audit
        from queueops.management.subcommands import SUBCOMMANDS, Subcommand

        checks.register(check_project)
        audit.keep(keep)
        SUBCOMMANDS["demo"] = Subcommand("console", "demo")
