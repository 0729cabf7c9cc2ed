"""The outbox as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class OutboxConfig(AppConfig):
    """Puts the outbox in place."""

    name = "queueops.contrib.outbox"
    label = "queueops_outbox"
    verbose_name = "QueueOps outbox"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let pushes find the outbox."""
        from queueops.contrib.outbox.database_outbox import DatabaseOutbox
        from queueops.tasks import outbox

        outbox.install(DatabaseOutbox())
