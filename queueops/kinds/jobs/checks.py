"""System checks of jobs: the packages of the extra `jobs`, the storage of downloads and the URLs of their files."""

from __future__ import annotations

from importlib.util import find_spec

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Warning
from django.core.files.storage import FileSystemStorage
from django.utils.module_loading import import_string

from queueops import conf
from queueops.kinds.jobs.files.file_store import new_storage
from queueops.kinds.jobs.files.s3_buckets import missing_packages
from queueops.kinds.jobs.settings import of_jobs

PACKAGES = ("idna", "ninja", "puremagic", "urllib3")
"""What the extra installs, by the names that are imported."""
KAFKA_PACKAGE = "confluent_kafka"
SAMPLE = "abc/abcd"
"""The name of a file that is not there, to see which URL the storage gives it."""


def check_jobs() -> list[CheckMessage]:
    """All of them. Nothing is written; a worker tries the storage at its start."""
    return [*check_packages(), *check_storage(), *check_circuit_key()]


def check_packages() -> list[CheckMessage]:
    """An error that has the command to install what is missing."""
    if not are_set():
        return []
    given = getattr(django_settings, "QUEUEOPS", {})["JOBS"]
    found: list[CheckMessage] = []
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        told, hint = f"Jobs need packages that are not installed: {', '.join(missing)}.", "queueops[jobs]"
        found.append(Error(told, hint=f"Write: pip install '{hint}'", id="queueops.E007"))
    if isinstance(given, dict) and given.get("KAFKA") and find_spec(KAFKA_PACKAGE) is None:
        told, hint = f"Callbacks to Kafka need a package that is not installed: {KAFKA_PACKAGE}.", "queueops[kafka]"
        found.append(Error(told, hint=f"Write: pip install '{hint}'", id="queueops.E007"))
    if isinstance(given, dict) and given.get("S3_BUCKETS") and (missing := missing_packages()):
        told, hint = f"Buckets of S3 need packages that are not installed: {', '.join(missing)}.", "queueops[s3]"
        found.append(Error(told, hint=f"Write: pip install '{hint}'", id="queueops.E007"))
    return found


def check_storage() -> list[CheckMessage]:
    """Files that would be in the working directory of a worker, and URLs of files that a receiver cannot use."""
    if conf.problems() or not downloads():
        return []
    storage = new_storage()
    if isinstance(storage, FileSystemStorage) and not storage.base_location:
        text = "Downloads would be in the working directory of each worker: the default storage has no directory."
        hint = f"Set MEDIA_ROOT, or a location in STORAGES['default']['OPTIONS'].{_silenced('queueops.E008')}"
        return [Error(text, hint=hint, id="queueops.E008")]
    if of_jobs().download_url:
        return []
    try:
        url = str(storage.url(SAMPLE))
    except (NotImplementedError, ValueError):  # what Django's Storage.url raises where files have no URL
        url = ""
    if url.startswith(("http://", "https://")):
        return []
    text = f"Callbacks name the URL of a file as {url!r}, which is not a URL with a host."
    hint = f'Set QUEUEOPS["JOBS"]["DOWNLOAD_URL"], or MEDIA_URL with a host.{_silenced("queueops.W005")}'
    return [Warning(text, hint=hint, id="queueops.W005")]


def check_circuit_key() -> list[CheckMessage]:
    """A function of the setting CIRCUIT_KEY that cannot be imported: each callback would fail."""
    path = "" if conf.problems() else of_jobs().circuit_key
    try:
        if not path or callable(import_string(path)):
            return []
        fault = "it is not a function"
    except ImportError as error:
        fault = str(error)
    text = f'QUEUEOPS["JOBS"]["CIRCUIT_KEY"] is {path!r}, which cannot be used: {fault}.'
    return [Error(text, hint="Name a function that gets a URL, such as 'shop.callbacks.by_host'.", id="queueops.E009")]


def _silenced(id: str) -> str:
    """The advice for a project without downloads. It may have the setting for the webhooks of its alerts alone."""
    webhooks = "PRIVATE_NETWORKS and PORTS are for webhooks of alerts, too, which store no file."
    return f" If no job is a download, put {id!r} into SILENCED_SYSTEM_CHECKS. {webhooks}"


def are_set() -> bool:
    """Whether the project has the setting `QUEUEOPS["JOBS"]`."""
    return "JOBS" in getattr(django_settings, "QUEUEOPS", {})


def downloads() -> bool:
    """Whether the project has jobs whose files go to the storage: its own handler `download` need not do so."""
    from queueops.kinds.jobs.files.download_options import DOWNLOAD
    from queueops.kinds.jobs.store import JOB
    from queueops.tasks import registry

    return are_set() and (JOB, DOWNLOAD) not in registry.handlers()
