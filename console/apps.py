"""Django app configuration of the console."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.core import checks
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from queueops.management.queue.audit import Act


class ConsoleConfig(AppConfig):
    """`INSTALLED_APPS = [..., "queueops", "console"]` and `path("ops/", include("console.urls"))` are enough."""

    name = "console"
    label = "queueops_console"  # a project may have another app named `console`
    verbose_name = _("Operations console")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and audit the operators' terminal commands."""
        from console.checks import check_project
        from queueops.management.queue import audit
        from queueops.management.subcommands import SUBCOMMANDS, Subcommand

        checks.register(check_project)
        checks.register(check_kinds)
        audit.keep(_keep)
        SUBCOMMANDS["demo"] = Subcommand("console", "demo")


def check_kinds(**_: Any) -> list[checks.CheckMessage]:
    """Kinds whose pages are not shown, because a name or a place does not fit."""
    from console import urls as urls  # its modules tell the names of the console itself
    from console.ui.kind_pages import refused_pages

    try:
        refused = refused_pages()
    except LookupError:  # E006 says what is wrong with a kind
        return []
    return [
        checks.Error(f"The pages of the kind {name} are not shown: {reason}", id="queueops_console.E004")
        for name, reason in refused.items()
    ]


def _keep(done: Act) -> AbstractContextManager[None]:
    """The audit of a terminal's action. Imported here: most processes make none."""
    from console.actions.terminal_entries import keep

    return keep(done)
