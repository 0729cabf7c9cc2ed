"""The API of jobs as a Django app: the table of its tokens."""

from __future__ import annotations

from django.apps import AppConfig


class JobApiConfig(AppConfig):
    """`INSTALLED_APPS = [..., "queueops", "queueops.kinds.jobs.api"]`. It needs no console."""

    name = "queueops.kinds.jobs.api"
    label = "queueops_jobs_api"
    verbose_name = "QueueOps API of jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer the command of the tokens as `manage.py queueops apitoken`, too."""
        from queueops.management.subcommands import SUBCOMMANDS, Subcommand

        SUBCOMMANDS["apitoken"] = Subcommand(self.name, "apitoken")
