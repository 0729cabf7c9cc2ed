"""Django's task framework: `django.tasks`, or the package `django-tasks` where Django has none (5.2)."""

from __future__ import annotations

import sys
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

DEFAULT_ALIAS = "default"
PACKAGES = ("django.tasks", "django_tasks")
MISSING = "Django 5.2 has no task framework: pip install 'django-tasks>=0.12', or use Django 6."
TOO_OLD = "The installed django-tasks is too old for QueueOps: pip install 'django-tasks>=0.12'"


@cache
def library(module: str = "") -> Any:
    """The framework's package, or a module of it. Raises ImproperlyConfigured."""
    package = next((name for name in PACKAGES if find_spec(name) is not None), None)
    if package is None:
        raise ImproperlyConfigured(MISSING)
    base = import_module(f"{package}.base") if find_spec(f"{package}.base") else None
    if not hasattr(getattr(base, "TaskResultStatus", None), "SUCCESSFUL"):  # it was SUCCEEDED once
        raise ImproperlyConfigured(TOO_OLD)
    return import_module(f"{package}.{module}".rstrip("."))


def load(path: str) -> Any:
    """The task at this import path, if its module is imported already, or None.

    The path comes from a record, so nothing is imported for it; the module's own `__getattr__` might import, too.
    """
    module, _, attribute = path.rpartition(".")
    found = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
    return found if isinstance(found, library("base").Task) else None


def with_fields(task: Any, **changes: Any) -> Any:
    """The task with other fields, without validation: it was valid at its push, and QUEUES may have changed since."""
    made = object.__new__(type(task))
    for field in fields(task):
        object.__setattr__(made, field.name, changes.get(field.name, getattr(task, field.name)))
    return made


def backend_of(alias: str) -> Any:
    """The backend of an alias, or None if TASKS does not have it any more."""
    backends = library().task_backends
    return backends[alias] if alias in backends.settings else None


def invalid_task(text: str) -> Exception:
    """The framework's error for a task that its backend refuses."""
    exceptions = library("exceptions")
    kind: type[Exception] = getattr(exceptions, "InvalidTask", None) or exceptions.InvalidTaskError
    return kind(text)


def plain_json(value: Any) -> Any:
    """The value after a JSON round trip. Raises TypeError or ValueError for values that the framework refuses."""
    return library("base").normalize_json(value)


def moment(ms: int | None) -> datetime | None:
    """Epoch milliseconds as a datetime like `timezone.now()`: naive and local if USE_TZ is off."""
    if ms is None:
        return None
    aware = datetime.fromtimestamp(ms / 1000, UTC)
    return aware if settings.USE_TZ else timezone.make_naive(aware, timezone.get_default_timezone())
