"""Settings of a running demo: those of the stand-alone project, with the sample tasks and their page."""

from __future__ import annotations

from console.project.settings import *  # noqa: F403
from console.project.settings import DATA, DEBUG, INSTALLED_APPS, QUEUEOPS, STORAGES

INSTALLED_APPS = list(dict.fromkeys([*INSTALLED_APPS, "queueops_demo"]))
DEMO_SCHEDULES = True  # in other projects, such as the tests, the sample tasks must not run by themselves
CONSOLE_PAGES = (("demo:demo", "d", "flame", "Demo"),)
ROOT_URLCONF = "queueops_demo.addresses"
QUEUEOPS = QUEUEOPS | {
    "GRACE": 5,  # the user who ends a demo does not want to wait
    "POOLS": {"default": {"lanes": {"thumbnails": {"limit": 2}}}},
    "JOBS": {
        "PRIVATE_NETWORKS": ["127.0.0.0/8", "::1/128"],  # the sample server is on this machine
        "PORTS": None,
        "DOWNLOAD_URL": "http://files.example/",  # what callbacks tell; the demo serves no files
        "PARTIAL_DIRECTORY": str(DATA / "partial"),
        "CALLBACK_SECRETS": ["whsec_c2FtcGxlIHNlY3JldCBvZiB0aGUgZGVtbw=="],  # it signs nothing but sample data
    },
}
MEDIA_ROOT, MEDIA_URL = str(DATA / "media"), "media/"
if not DEBUG:  # `prepare` collects the files
    STORAGES = STORAGES | {"staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}}
    WHITENOISE_USE_FINDERS = False
