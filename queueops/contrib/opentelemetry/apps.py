"""OpenTelemetry as a Django app: to install it is all that is needed."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from queueops.model import observers


class OpenTelemetryConfig(AppConfig):
    """Registers the observer. Raises ImproperlyConfigured without the package opentelemetry-api."""

    name = "queueops.contrib.opentelemetry"
    label = "queueops_opentelemetry"
    verbose_name = "QueueOps: OpenTelemetry"

    def ready(self) -> None:
        """Import the package here: a project without this app does not load it."""
        try:
            from queueops.contrib.opentelemetry.observer import OpenTelemetry
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "opentelemetry":
                raise
            install = "pip install 'queueops[opentelemetry]'"
            raise ImproperlyConfigured(f"{self.name} needs the package opentelemetry-api: {install}") from None
        observers.registered.append(OpenTelemetry())
