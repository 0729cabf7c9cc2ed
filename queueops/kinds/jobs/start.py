"""Start of a worker with jobs: a file is written to the storage, read and deleted, before the first download."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from queueops.errors.job_network import StorageNotReady
from queueops.kinds.jobs.aggregations.lane_names import AGGREGATION
from queueops.kinds.jobs.checks import downloads
from queueops.kinds.jobs.settings import of_jobs

if TYPE_CHECKING:
    from queueops.worker import WorkerOptions


def prepare(options: WorkerOptions) -> None:
    """Try the storage if this worker may run downloads. Raises StorageNotReady."""
    if not downloads() or not of_jobs().check_storage or not serves(options.lanes, AGGREGATION):
        return
    try_storage()
    try_partial_directory()


def try_storage() -> None:
    """Write a file to the storage, read it and delete it. Raises StorageNotReady."""
    from django.core.files.base import ContentFile

    from queueops.kinds.jobs.files.file_store import new_storage

    storage = new_storage()
    content, backend = os.urandom(16).hex().encode(), type(storage).__name__
    try:
        name = storage.save(f".queueops-probe-{content[:8].decode()}", ContentFile(content))
        try:
            with storage.open(name) as file:
                found = file.read()
        finally:
            storage.delete(name)
    except Exception as error:  # each storage has errors of its own
        raise StorageNotReady(storage=backend, reason=_reason(error)) from error
    if found != content:
        raise StorageNotReady(storage=backend, reason="a file that was read has other content than was written")


def try_partial_directory() -> None:
    """Open a partial file and delete it. Raises StorageNotReady."""
    from queueops.kinds.jobs.files.file_store import partial_file

    directory = of_jobs().partial_directory
    try:
        with partial_file(f"probe {os.getpid()}", Path(directory) if directory else None) as part:
            part.discard()
    except OSError as error:
        raise StorageNotReady(storage="PARTIAL_DIRECTORY", reason=_reason(error)) from error


def serves(patterns: tuple[str, ...], prefix: str) -> bool:
    """Whether a lane with this beginning may match one of the patterns; without any each lane does."""
    heads = [pattern.partition("*") for pattern in patterns]
    return not heads or any(
        head.startswith(prefix) or (bool(star) and prefix.startswith(head)) for head, star, _ in heads
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".")
