"""What the console needs of the project that it lives in, as Django system checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

APPS = (
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
)
MIDDLEWARES = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
)


def check_project(**_: Any) -> list[CheckMessage]:
    """Say which app or middleware is missing, before the first page fails for it."""
    return [*_missing_apps(), *_missing_middlewares()]


def _missing_apps() -> Iterator[CheckMessage]:
    for name in APPS:
        if not apps.is_installed(name):
            yield Error(f"The console needs {name!r} in INSTALLED_APPS.", id="console.E001")


def _missing_middlewares() -> Iterator[CheckMessage]:
    for name in MIDDLEWARES:
        if name not in settings.MIDDLEWARE:
            text = f"The console needs {name!r} in MIDDLEWARE, or one that does the same."
            yield Warning(text, id="console.W001")
