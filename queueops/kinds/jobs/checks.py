"""System checks of jobs: a project that sets `QUEUEOPS["JOBS"]` has the packages of the extra `jobs`."""

from __future__ import annotations

from importlib.util import find_spec

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error

PACKAGES = ("httpcore", "httpx", "ninja", "puremagic")
"""What the extra installs, by the names that are imported."""


def check_packages() -> list[CheckMessage]:
    """An error that has the command to install what is missing."""
    if "JOBS" not in getattr(django_settings, "QUEUEOPS", {}):
        return []
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if not missing:
        return []
    hint = "Write: pip install 'queueops[jobs]'"
    return [Error(f"Jobs need packages that are not installed: {', '.join(missing)}.", hint=hint, id="queueops.E007")]
