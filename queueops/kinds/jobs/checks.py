"""System checks of jobs: a project that sets `QUEUEOPS["JOBS"]` has the packages of the extra `jobs`."""

from __future__ import annotations

from importlib.util import find_spec

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error

PACKAGES = ("httpcore", "httpx", "ninja", "puremagic")
"""What the extra installs, by the names that are imported."""
KAFKA_PACKAGE = "confluent_kafka"


def check_packages() -> list[CheckMessage]:
    """An error that has the command to install what is missing."""
    given = getattr(django_settings, "QUEUEOPS", {})
    if "JOBS" not in given:
        return []
    uses_kafka = isinstance(given["JOBS"], dict) and given["JOBS"].get("KAFKA")
    found: list[CheckMessage] = []
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        told, hint = f"Jobs need packages that are not installed: {', '.join(missing)}.", "queueops[jobs]"
        found.append(Error(told, hint=f"Write: pip install '{hint}'", id="queueops.E007"))
    if uses_kafka and find_spec(KAFKA_PACKAGE) is None:
        told, hint = f"Callbacks to Kafka need a package that is not installed: {KAFKA_PACKAGE}.", "queueops[kafka]"
        found.append(Error(told, hint=f"Write: pip install '{hint}'", id="queueops.E007"))
    return found
