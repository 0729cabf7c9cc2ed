"""Optional packages of the stand-alone project and the demo: the extra `project`."""

from __future__ import annotations

from importlib.util import find_spec

SETTINGS = ("csp", "whitenoise")
"""Packages that `console.project.settings` needs."""
DEMO = (*SETTINGS, "gunicorn")
"""Packages that `manage.py demo` needs."""


def missing(names: tuple[str, ...]) -> str:
    """The names of the packages that are not installed, separated by commas; empty if all are installed."""
    return ", ".join(name for name in sorted(names) if find_spec(name) is None)
