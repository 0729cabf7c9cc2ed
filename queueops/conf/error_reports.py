"""Reports of errors without the keys of QUEUEOPS['ENCRYPTION']: Django's pages and mails show the settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from django.views.debug import SafeExceptionReporterFilter


class ReportFilter(SafeExceptionReporterFilter):
    """A value for DEFAULT_EXCEPTION_REPORTER_FILTER. It hides what Django hides, and the keys."""

    hidden_settings = re.compile(f"{SafeExceptionReporterFilter.hidden_settings.pattern}|ENCRYPTION", re.IGNORECASE)


def show(keys: Iterable[str | None]) -> bool:
    """Whether the reports of this project show one of the keys."""
    of_project: Any = import_string(settings.DEFAULT_EXCEPTION_REPORTER_FILTER)()
    shown = repr(of_project.cleanse_setting("QUEUEOPS", settings.QUEUEOPS))
    return any(key in shown for key in keys if key)
