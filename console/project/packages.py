"""Optional packages of the stand-alone project, its API and the demo."""

from __future__ import annotations

from importlib.util import find_spec

SETTINGS = ("csp", "whitenoise")
"""Packages that `console.project.settings` needs."""
API = ("idna", "ninja", "puremagic", "urllib3")
"""Packages that the HTTP API of jobs needs: the extra `jobs`."""
DEMO = (*SETTINGS, "gunicorn")
"""Packages that `manage.py demo` needs."""


def missing(names: tuple[str, ...]) -> str:
    """The names of the packages that are not installed, separated by commas; empty if all are installed."""
    return ", ".join(name for name in sorted(names) if find_spec(name) is None)
