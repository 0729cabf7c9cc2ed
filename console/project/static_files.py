"""Storages of static files below a script name: each URL gets the prefix of the request.

Django adds it to a relative STATIC_URL once, often before the first request, and keeps that for all.
"""

from __future__ import annotations

from django.contrib.staticfiles.storage import StaticFilesStorage
from django.urls import get_script_prefix
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class _BelowScriptName:
    """A URL of this host gets the script name, unless STATIC_URL has it already."""

    def url(self, name: str | None, *args: bool) -> str:
        """The URL of a file."""
        url: str = super().url(name, *args)  # type: ignore[misc]
        prefix = get_script_prefix()
        is_here = url.startswith("/") and not url.startswith(("//", prefix))
        return f"{prefix.rstrip('/')}{url}" if is_here else url


class PlainFiles(_BelowScriptName, StaticFilesStorage):
    """Files as they are, for development."""


class HashedFiles(_BelowScriptName, CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Compressed files with a hash in their names, for production."""
