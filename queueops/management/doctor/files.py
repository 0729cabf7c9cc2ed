"""Files: the storage of downloads, as a worker tries it at its start, and the collected static files."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.management.doctor.finding import FAIL, OK, Finding
from queueops.model import kinds
from queueops.worker import WorkerOptions

STATIC = "console/built/console.js"


def findings() -> Iterator[Finding]:
    """Files that cannot be written, and static files that a page would not find."""
    found = [*_storage(), *_static()]
    yield from found or [Finding("files", OK, "Files can be written where they are needed; static files are there.")]


def _storage() -> Iterator[Finding]:
    if conf.problems():
        return
    for check in kinds.roles("work.start"):
        try:
            check(WorkerOptions.from_settings())
        except QueueOpsError as error:
            remedy = "Give the user of the workers the right to write there, and look at the space on the disk."
            yield Finding("files", FAIL, str(error), remedy)


def _static() -> Iterator[Finding]:
    """A storage with hashed names raises a ValueError for a file that was not collected: each page would fail."""
    if not (apps.is_installed("console") and apps.is_installed("django.contrib.staticfiles")):
        return
    from django.contrib.staticfiles.storage import staticfiles_storage

    try:
        staticfiles_storage.url(STATIC)
    except ValueError as error:
        yield Finding("files", FAIL, f"A static file is not collected: {error}", "Write: manage.py collectstatic")
