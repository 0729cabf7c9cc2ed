"""Preparation of the demo, before its processes start: `python -m queueops_demo.prepare [RATE]`."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import django

NAME = "operator"
GROUP = "administrators"


def prepare(rate: float | None) -> None:
    """Start the server, migrate the database, create the account, and set the rate."""
    from django.conf import settings
    from django.core.management import call_command

    from queueops_demo.models import Pace

    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("embedded", "start")
    call_command("migrate", interactive=False, verbosity=0)
    ensure_operator(Path(settings.DATA))
    if rate is not None:
        Pace.set(rate)


def password(data: Path) -> str:
    """The password, generated at the first start, in a file that only its owner can read."""
    kept = data / "password"
    if not kept.exists():
        descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(12) + "\n")
    return kept.read_text().strip()


def ensure_operator(data: Path) -> None:
    """Create or repair the account: an administrator of the console, not a superuser."""
    from django.contrib.auth.models import Group, User

    user, _ = User.objects.get_or_create(username=NAME)
    if not user.check_password(password(data)):
        user.set_password(password(data))
    user.is_active = True
    user.save()
    user.groups.set([Group.objects.get(name=GROUP)])


if __name__ == "__main__":
    django.setup()
    prepare(float(sys.argv[1]) if len(sys.argv) > 1 else None)
