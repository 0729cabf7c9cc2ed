"""Mail settings in the way of the installed Django: `MAILERS` since 6.1, before it one setting for each value."""

from __future__ import annotations

from typing import Any

import django


def use_mail(settings: Any, backend: str, host: str = "localhost", port: int = 25) -> None:
    """Let Django send mail by this backend; `smtp` to a server."""
    path = f"django.core.mail.backends.{backend}.EmailBackend"
    if django.VERSION >= (6, 1):
        options = {"host": host, "port": port} if backend == "smtp" else {}
        settings.MAILERS = {"default": {"BACKEND": path, "OPTIONS": options}}
    else:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = path, host, port
