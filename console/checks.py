"""Django system checks: what the console needs of its project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured
from django.template import TemplateDoesNotExist
from django.template.loader import get_template

APPS = (
    "queueops",
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


BESIDE = Path(__file__).resolve().parents[1]
"""The root of the repository, if the console is installed from it in editable mode."""
TEMPLATE, STATIC = "console/base.html", "console/built/console.js"
APP_DIRS = "Set 'APP_DIRS': True in TEMPLATES, with the backend of Django's own templates."
APP_FINDER = "Keep django.contrib.staticfiles.finders.AppDirectoriesFinder in STATICFILES_FINDERS."


def check_project(**_: Any) -> list[CheckMessage]:
    """Report a missing app, middleware or file at the start, before a page fails."""
    return [*_missing_apps(), *_missing_middlewares(), *_missing_files()]


def _missing_files() -> Iterator[CheckMessage]:
    """Missing files: templates and static files are beside the apps in the repository, but inside them in a wheel."""
    try:
        get_template(TEMPLATE)
    except (TemplateDoesNotExist, ImproperlyConfigured):
        advice = f"Write in TEMPLATES: {_directory('DIRS', 'templates')}" if _beside("templates") else APP_DIRS
        yield Error("The console's templates cannot be found.", hint=advice, id="queueops_console.E002")
    if apps.is_installed("django.contrib.staticfiles") and finders.find(STATIC) is None:
        advice = f"Write: {_directory('STATICFILES_DIRS', 'static')}" if _beside("static") else APP_FINDER
        yield Error("The console's static files cannot be found.", hint=advice, id="queueops_console.E003")


def _directory(name: str, directory: str) -> str:
    line = f'{name!r}: ["{BESIDE / directory}"]' if name == "DIRS" else f'{name} = ["{BESIDE / directory}"]'
    return f"{line} - or install a wheel in place of the editable repository: pip install {BESIDE}"


def _beside(directory: str) -> bool:
    return (BESIDE / directory / "console").is_dir()


def _missing_apps() -> Iterator[CheckMessage]:
    for name in APPS:
        if not apps.is_installed(name):
            yield Error(f"The console needs {name!r} in INSTALLED_APPS.", id="queueops_console.E001")


def _missing_middlewares() -> Iterator[CheckMessage]:
    for name in MIDDLEWARES:
        if name not in settings.MIDDLEWARE:
            text = f"The console needs {name!r} in MIDDLEWARE, or one that does the same."
            yield Warning(text, id="queueops_console.W001")
