"""The demo's account: `operator`, with a password of its own that is kept in the demo's directory."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

NAME = "operator"
GROUP = "administrators"


def password(data: Path) -> str:
    """The password: made at the first start, then read from a file that only its owner can read."""
    kept = data / "password"
    if not kept.exists():
        descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(12) + "\n")
    return kept.read_text().strip()


def ensure_operator(data: Path) -> None:
    """Make the account what it should be: an administrator of the console, no superuser."""
    from django.contrib.auth.models import Group, User

    user, _ = User.objects.get_or_create(username=NAME)
    if not user.check_password(password(data)):
        user.set_password(password(data))
    user.is_active = True
    user.save()
    user.groups.set([Group.objects.get(name=GROUP)])
