"""Builds the wheel, and the Django project of a user that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.once_per_run import made_once

ROOT = Path(__file__).parents[2]
SETTINGS = """
from pathlib import Path
BASE_DIR = Path(__file__).parent
SECRET_KEY = "somebody else's"
DEBUG = True
ROOT_URLCONF = "urls"
ALLOWED_HOSTS = ["127.0.0.1"]
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    "django.contrib.staticfiles", "queueops", "console",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]},
}]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "db.sqlite3"}}
STATIC_URL = "/assets/"
"""
URLS = """
from django.urls import include, path
urlpatterns = [path("ops/", include("console.urls"))]
"""


def build() -> Path:
    """The wheel of this tree, built once for a run of tests."""
    command = ["-m", "hatchling", "build", "--target", "wheel", "--directory"]
    (built,) = made_once("wheel", lambda target: run([*command, str(target)], cwd=ROOT)).glob("*.whl")
    return built


def run(command: list[str], cwd: Path, env: dict[str, str] | None = None, python: Path | None = None) -> str:
    """Run Python to its end, which is a success, and return what it printed."""
    program = str(python or sys.executable)
    done = subprocess.run(
        [program, *command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
