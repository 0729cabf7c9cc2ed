"""Sentry as a Django app: to install it is all that is needed."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from queueops.model import observers


class SentryConfig(AppConfig):
    """Registers the observer. Raises ImproperlyConfigured without the package sentry-sdk."""

    name = "queueops.contrib.sentry"
    label = "queueops_sentry"
    verbose_name = "QueueOps: Sentry"

    def ready(self) -> None:
        """Import the package here: a project without this app does not load it."""
        try:
            from queueops.contrib.sentry.observer import Sentry
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "sentry_sdk":
                raise
            install = "pip install 'queueops[sentry]'"
            raise ImproperlyConfigured(f"{self.name} needs the package sentry-sdk: {install}") from None
        observers.registered.append(Sentry())
