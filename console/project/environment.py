"""Environment settings of the stand-alone project, and the files in its data directory."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

OTHERS = 0o077


def flag(name: str, default: bool) -> bool:
    """A boolean: 1, true, yes and on are true."""
    return os.environ.get(name, str(default)).strip().lower() in ("1", "true", "yes", "on")


def words(name: str) -> list[str]:
    """A list, separated by commas."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def private_folder(folder: Path, *, ours: bool = False) -> None:
    """Create the folder for its owner alone. Raises ImproperlyConfigured if it exists and other users can enter it.

    Permissions of the project's own folder (`ours`) are restricted; a folder of the operator may have other uses too.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if not found.st_mode & OTHERS:
        return
    if not ours or found.st_uid != os.geteuid():
        raise ImproperlyConfigured(
            f"Other users of this machine can enter {folder} (mode {found.st_mode & 0o7777:04o}), where the project "
            f"keeps its database and keys. Write: chmod 700 {folder} - or name a folder that is not there yet."
        )
    folder.chmod(0o700)


def secret_key(data: Path, *, production: bool) -> str:
    """`QUEUEOPS_SECRET_KEY`; in development, a key that is created once and kept in the data directory."""
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
        _close_to_others(data / "db.sqlite3")
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


def _close_to_others(database: Path) -> None:
    """Make the file of a new database private to its owner; SQLite gives its WAL and index the same mode."""
    if not database.exists():
        database.touch(mode=0o600)
    for path in (database, *database.parent.glob(f"{database.name}-*")):
        with suppress(FileNotFoundError):  # the last connection removes both
            found = path.stat()
            if found.st_mode & OTHERS and found.st_uid == os.geteuid():
                path.chmod(0o600)


def _write_once(path: Path, text: str) -> None:
    """Write a file once: of two processes that start at the same time only one creates the link."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(text)
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
