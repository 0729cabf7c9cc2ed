"""Download URL: where a stored file is found, made when a callback is sent or a page is shown."""

from __future__ import annotations

from urllib.parse import quote

from queueops.kinds.jobs.settings import of_jobs


def download_url(path: str) -> str:
    """Where a stored file is found: below the setting DOWNLOAD_URL, else where its storage says; empty if unknown."""
    if base := of_jobs().download_url:
        return f"{base.rstrip('/')}/{quote(path)}"
    from django.core.files.storage import default_storage

    try:
        return str(default_storage.url(path))
    except (NotImplementedError, ValueError):  # what Django's Storage.url raises where files have no URL
        return ""
