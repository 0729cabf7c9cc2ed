"""Settings of the stand-alone project. Development is the default; `QUEUEOPS_ENV=production` is strict.

Read from the environment: QUEUEOPS_ENV, QUEUEOPS_DEBUG, QUEUEOPS_SECRET_KEY, QUEUEOPS_HOSTS, QUEUEOPS_ORIGINS,
QUEUEOPS_BEHIND_PROXY, QUEUEOPS_DATABASE_URL, QUEUEOPS_DATA, QUEUEOPS_FILES, QUEUEOPS_FILES_URL, QUEUEOPS_API,
QUEUEOPS_API_CLASSIC, and QUEUEOPS_URL (see `queueops.conf`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from console.project import environment, packages

if lacking := packages.missing(packages.SETTINGS):
    raise ImproperlyConfigured(
        f"The project console.project needs packages that are not installed: {lacking}. "
        "Write: pip install 'queueops[project]'"
    )

from csp.constants import NONE, SELF

SERVE_API = environment.flag("QUEUEOPS_API", False)
SERVE_CLASSIC_API = environment.flag("QUEUEOPS_API_CLASSIC", False)
if (SERVE_API or SERVE_CLASSIC_API) and (lacking := packages.missing(packages.API)):
    raise ImproperlyConfigured(
        f"The HTTP API of jobs needs packages that are not installed: {lacking}. "
        "Write: pip install 'queueops[jobs,project]'"
    )

BASE_DIR = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("QUEUEOPS_DATA") or BASE_DIR / "var").absolute()
environment.private_folder(DATA, ours=DATA == BASE_DIR / "var")

PRODUCTION = os.environ.get("QUEUEOPS_ENV", "development") == "production"
DEBUG = not PRODUCTION and environment.flag("QUEUEOPS_DEBUG", True)
SECRET_KEY = environment.secret_key(DATA, production=PRODUCTION)
ALLOWED_HOSTS = environment.words("QUEUEOPS_HOSTS") or ([] if PRODUCTION else ["localhost", "127.0.0.1", "[::1]"])
CSRF_FAILURE_VIEW = "console.http.error_pages.csrf_failure"
CSRF_TRUSTED_ORIGINS = environment.words("QUEUEOPS_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "queueops",
    "queueops.kinds.jobs.api",
    "console",
    *(["ninja"] if SERVE_API else []),  # its page of the API has scripts of its own
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "console.project.api_paths.DocumentPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "console.project.api_paths.PageLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "console.project.urls"
WSGI_APPLICATION = "console.project.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": environment.database(DATA)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "console:login"
LOGIN_REDIRECT_URL = "console:overview"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German")]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"  # the storages add a script name
STATIC_ROOT = DATA / "static"
STATICFILES_DIRS = [path for path in [BASE_DIR / "static"] if path.is_dir()]
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = DEBUG
MEDIA_ROOT = os.environ.get("QUEUEOPS_FILES") or DATA / "files"  # downloads of jobs; another server gives them out
MEDIA_URL = os.environ.get("QUEUEOPS_FILES_URL") or "files/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": f"console.project.static_files.{'HashedFiles' if PRODUCTION else 'PlainFiles'}"},
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],  # Tabler's CSS has check marks and arrows as data: images
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = PRODUCTION
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SECURE_HSTS_SECONDS = 365 * 86400 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PRODUCTION
if environment.flag("QUEUEOPS_BEHIND_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    MIDDLEWARE.insert(0, "console.project.proxy.real_address")

QUEUEOPS: dict[str, Any] = {"URL": f"embedded:{DATA / 'queueops'}"}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"text": {"()": "queueops.logs.TextFormatter"}},
    "filters": {"task": {"()": "queueops.log_filter.TaskFilter"}},
    "handlers": {"stderr": {"class": "queueops.log_handler.LineHandler", "formatter": "text", "filters": ["task"]}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
}
