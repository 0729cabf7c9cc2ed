"""Before the demo's processes start: `python -m console.demo.prepare [RATE]`."""

from __future__ import annotations

import sys
from pathlib import Path

import django


def prepare(rate: float | None) -> None:
    """The server runs, the database has its tables, the operator has an account, the pace is set."""
    from django.conf import settings
    from django.core.management import call_command

    from console.demo.account import ensure_operator
    from console.demo.models import Pace

    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
    call_command("embedded", "start")
    call_command("migrate", interactive=False, verbosity=0)
    ensure_operator(Path(settings.DATA))
    if rate is not None:
        Pace.set(rate)


if __name__ == "__main__":
    django.setup()
    prepare(float(sys.argv[1]) if len(sys.argv) > 1 else None)
