"""Download handler: fetches a job's URL into Django's storage, or says why not.

The body is streamed to a partial file, which is checked and then published as a whole. Nothing of a failed download is
in the storage. Each failure says if another attempt is of use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import Storage

from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.kinds.jobs.files.download_options import Download
from queueops.kinds.jobs.files.file_store import PartialFile, file_name, part_of, publish
from queueops.kinds.jobs.files.image_size import BadImage, image_size
from queueops.kinds.jobs.files.mime import HEAD, MimePatterns, mime_type_of
from queueops.kinds.jobs.files.s3_buckets import metadata, path_in, storage_of
from queueops.kinds.jobs.files.transfer import Transfer
from queueops.kinds.jobs.http.http_failures import AttemptFailed, Failure, FailureKind, failure_of_error
from queueops.kinds.jobs.settings import JobSettings, of_jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """The outcome. The file was stored if there is no failure."""

    failure: Failure | None = None
    status: int | None = None  # of the last answer, if there was one
    path: str = ""  # in the storage
    size: int = 0  # bytes
    mime_type: str = ""
    image_size: str = ""  # such as "640x480"
    resumed_at: int = 0  # bytes that an earlier attempt had read


def download(
    wanted: Download,
    *,
    settings: JobSettings | None = None,
    storage: Storage | None = None,
    progress: Callable[[int], None] | None = None,
) -> Downloaded:
    """Make one attempt. It raises no error of the network or the storage: the outcome has the failure.

    `progress` is called with the number of bytes so far; what it raises ends the attempt.
    """
    attempt = _Attempt(wanted, settings or of_jobs(), storage, progress)
    try:
        with part_of(wanted.id, attempt.directory) as part:
            return attempt.run(part)
    except (AddressRefused, HeaderRefused, AttemptFailed) as error:
        return Downloaded(failure=failure_of_error(error), status=attempt.status)
    except SuspiciousOperation as error:
        return Downloaded(failure=_of_storage(error, retriable=False), status=attempt.status)
    except OSError as error:
        return Downloaded(failure=_of_storage(error, retriable=True), status=attempt.status)


class _Attempt:
    """One attempt: request, body, checks, publication."""

    def __init__(
        self,
        wanted: Download,
        settings: JobSettings,
        storage: Storage | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._wanted, self._settings, self._storage, self._progress = wanted, settings, storage, progress
        self._patterns = MimePatterns.read(wanted.mime_type)
        self._transfer = Transfer(wanted, settings, self._look)
        self._is_checked = False
        self.directory = Path(settings.partial_directory) if settings.partial_directory else None

    @property
    def status(self) -> int | None:
        """The status of the last answer, if there was one."""
        return self._transfer.status

    def run(self, part: PartialFile) -> Downloaded:
        """The whole way of the file. A partial file is kept only if it can be continued."""
        try:
            self._transfer.fetch(part)
            mime_type = self._checked_type(part)
            size = self._image_size(part, mime_type)
        except AttemptFailed as error:
            if not error.failure.retriable:
                part.discard()
            raise
        stored = part.size
        path = self._publish(part)
        return Downloaded(
            status=self.status,
            path=path,
            size=stored,
            mime_type=mime_type,
            image_size=size,
            resumed_at=self._transfer.resumed_at,
        )

    def _publish(self, part: PartialFile) -> str:
        """Store the file where the job wants it. Gives how it is named there."""
        wanted = self._wanted
        name = file_name(wanted.id, wanted.subpath)
        try:
            with metadata(wanted.metadata):
                stored = publish(part, name, self._storage or storage_of(wanted.bucket))
        except (OSError, SuspiciousOperation):
            raise
        except Exception as error:  # each storage has errors of its own
            reason = f"The file cannot be stored: {type(error).__name__}: {error}"
            raise AttemptFailed(FailureKind.STORAGE, reason) from error
        return path_in(wanted.bucket, stored)

    def _look(self, part: PartialFile, size: int) -> None:
        """Look at what has been read so far."""
        if size >= HEAD and not self._is_checked:
            self._is_checked = bool(self._checked_type(part))
            part.file.seek(0, 2)
        if self._progress:
            self._progress(size)

    def _checked_type(self, part: PartialFile) -> str:
        part.file.seek(0)
        head = part.file.read(HEAD)
        found = mime_type_of(head, is_whole=part.size <= HEAD)
        if fault := self._patterns.fault_of(found):
            raise AttemptFailed(FailureKind.MIME, fault, retriable=False)
        return found

    def _image_size(self, part: PartialFile, mime_type: str) -> str:
        if not self._wanted.extract_image_size:
            return ""
        try:
            return image_size(part.file, mime_type)
        except BadImage as error:
            raise AttemptFailed(FailureKind.IMAGE, str(error), retriable=False) from error


def _of_storage(error: Exception, *, retriable: bool) -> Failure:
    return Failure(kind=FailureKind.STORAGE, reason=f"The file cannot be stored: {error}", retriable=retriable)
