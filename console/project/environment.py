"""What the stand-alone project reads from the environment, and what it keeps in its data directory."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


def flag(name: str, default: bool) -> bool:
    """A switch: 1, true, yes and on are on."""
    return os.environ.get(name, str(default)).strip().lower() in ("1", "true", "yes", "on")


def words(name: str) -> list[str]:
    """A list, separated by commas."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def secret_key(data: Path, *, production: bool) -> str:
    """`QUEUEOPS_SECRET_KEY`; in development, one that is made once and kept in the data directory."""
    if given := os.environ.get("QUEUEOPS_SECRET_KEY"):
        return given
    if production:
        advice = "python -c 'import secrets; print(secrets.token_urlsafe(64))'"
        raise ImproperlyConfigured(f"QUEUEOPS_SECRET_KEY is not set, and production needs one. Make it with: {advice}")
    kept = data / "secret_key"
    if not kept.exists():
        _write_once(kept, secrets.token_urlsafe(64))
    return kept.read_text().strip()


def database(data: Path) -> dict[str, Any]:
    """`QUEUEOPS_DATABASE_URL` as postgresql://user:password@host:port/name, or SQLite in the data directory."""
    if not (url := os.environ.get("QUEUEOPS_DATABASE_URL")):
        pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
        options = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": pragmas}
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": data / "db.sqlite3", "OPTIONS": options}
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ImproperlyConfigured("QUEUEOPS_DATABASE_URL must begin with postgresql://")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": parts.port or "",
        "CONN_MAX_AGE": 60,
    }


def _write_once(path: Path, text: str) -> None:
    """Two processes that start at the same time end with the same text: the link is made by one of them only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(text)
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
