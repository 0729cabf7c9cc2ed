"""Error classes of the HTTP API of jobs. See ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class ApiAppMissing(QueueOpsError):
    """The app "queueops.kinds.jobs.api" is not in INSTALLED_APPS. Add it, and run manage.py migrate."""


class UnknownApiToken(QueueOpsError):
    """There is no valid API token with the name {name!r}."""

    name: str
