"""Preparation of the demo, before its processes start: `python -m queueops_demo.prepare [RATE]`."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import django

NAME, CLIENT = "operator", "demo"
GROUP = "administrators"


def prepare(rate: float | None) -> None:
    """Start the server, migrate the database, create the account and the token, and set the rate."""
    from django.conf import settings
    from django.core.management import call_command

    from queueops_demo.models import Pace

    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("embedded", "start")
    call_command("migrate", interactive=False, verbosity=0)
    ensure_operator(Path(settings.DATA))
    if settings.SERVE_API:
        ensure_token(Path(settings.DATA))
    if rate is not None:
        Pace.set(rate)


def password(data: Path) -> str:
    """The password, generated at the first start, in a file that only its owner can read."""
    kept = data / "password"
    if not kept.exists():
        _keep(kept, secrets.token_urlsafe(12))
    return kept.read_text().strip()


def token(data: Path) -> str:
    """The token of the API; empty if the demo has no API."""
    kept = data / "api-token"
    return kept.read_text().strip() if kept.exists() else ""


def _keep(path: Path, secret: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secret}\n")


def ensure_token(data: Path) -> None:
    """Make a token with every scope, unless the kept one is valid."""
    from queueops.kinds.jobs import api_tokens

    if (known := token(data)) and api_tokens.token_of(known):
        return
    if any(each.name == CLIENT and each.revoked_ms is None for each in api_tokens.api_tokens()):
        api_tokens.revoke_api_token(CLIENT, who=NAME)
    _keep(data / "api-token", api_tokens.create_api_token(CLIENT, list(api_tokens.Scope), who=NAME).secret)


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
