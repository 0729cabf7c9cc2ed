"""Download handler: fetches a job's URL into Django's storage, or says why not.

The body is streamed to a partial file, which is checked and then published as a whole. Nothing of a failed download is
in the storage. Each failure says if another attempt is of use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import Storage

from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.kinds.jobs.body_decoding import BadEncoding, decoded
from queueops.kinds.jobs.download_options import Download
from queueops.kinds.jobs.file_store import Origin, PartialFile, file_name, part_of, publish
from queueops.kinds.jobs.http_client import REDIRECTS, Answer, Deadline, answer_to, httpx
from queueops.kinds.jobs.http_failures import Failure, FailureKind, failure_of_error, failure_of_status
from queueops.kinds.jobs.image_size import BadImage, image_size
from queueops.kinds.jobs.mime import HEAD, MimePatterns, mime_type_of
from queueops.kinds.jobs.net_guard import check_headers, check_url
from queueops.kinds.jobs.s3_buckets import metadata, path_in, storage_of
from queueops.kinds.jobs.settings import JobSettings, of_jobs

PARTIAL, NOT_SATISFIABLE = 206, 416


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
    except _Failed as error:
        return Downloaded(failure=error.failure, status=attempt.status)
    except (AddressRefused, HeaderRefused, httpx.HTTPError, httpx.InvalidURL) as error:
        return Downloaded(failure=failure_of_error(error), status=attempt.status)
    except SuspiciousOperation as error:
        return Downloaded(failure=_of_storage(error, retriable=False), status=attempt.status)
    except OSError as error:
        return Downloaded(failure=_of_storage(error, retriable=True), status=attempt.status)


class _Failed(Exception):
    """The attempt has failed for a reason of its own."""

    def __init__(self, kind: FailureKind, reason: str, *, retriable: bool = False) -> None:
        super().__init__(reason)
        self.failure = Failure(kind=kind, reason=reason, retriable=retriable)


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
        self._deadline = Deadline(wanted.timeout or settings.download_timeout)
        self._headers = _sent_headers(wanted, settings)
        self.status: int | None = None
        self.directory = Path(settings.partial_directory) if settings.partial_directory else None

    def run(self, part: PartialFile) -> Downloaded:
        """The whole way of the file. A partial file is kept only if it can be continued."""
        try:
            resumed_at = self._fetch(part)
            mime_type = self._checked_type(part)
            size = self._image_size(part, mime_type)
        except _Failed as error:
            if not error.failure.retriable:
                part.discard()
            raise
        stored = part.size
        path = self._publish(part)
        return Downloaded(
            status=self.status, path=path, size=stored, mime_type=mime_type, image_size=size, resumed_at=resumed_at
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
            raise _Failed(FailureKind.STORAGE, reason, retriable=True) from error
        return path_in(wanted.bucket, stored)

    def _fetch(self, part: PartialFile) -> int:
        """Read the body. Gives the place from which it was read: 0 for a whole body."""
        offset, validator = self._place_to_continue(part)
        more = {"range": f"bytes={offset}-", "if-range": validator} if offset else {}
        target = check_url(self._wanted.url, "url", self._settings)
        with answer_to(
            "GET",
            target,
            what="url",
            headers=self._headers | more,
            settings=self._settings,
            deadline=self._deadline,
            proxy=self._wanted.proxy,
        ) as response:
            self.status = response.status_code
            if offset and self.status == NOT_SATISFIABLE:
                part.begin(None)
                return self._fetch(part)
            self._check_status(response)
            if self.status != PARTIAL:
                offset = 0
                part.begin(_origin(response, self._wanted.url))
            elif not offset or _first_byte(response) != offset:
                part.begin(None)
                raise _Failed(
                    FailureKind.PROTOCOL, "The answer has another part of the file than was asked for.", retriable=True
                )
            part.file.seek(offset)
            self._read(response, part, offset)
        return offset

    def _place_to_continue(self, part: PartialFile) -> tuple[int, str]:
        """The size of what an earlier attempt has read from the same answer, and what tells that it is the same."""
        origin = part.origin()
        if origin is None or origin.url != self._wanted.url or "accept-encoding" in _names(self._wanted.headers):
            return 0, ""
        return part.size, origin.validator

    def _check_status(self, response: Answer) -> None:
        if response.status_code >= 400 or response.status_code in REDIRECTS:
            failed = _Failed(FailureKind.STATUS, "")
            failed.failure = failure_of_status(response)
            raise failed

    def _read(self, response: Answer, part: PartialFile, offset: int) -> None:
        """Read the body to the end, with all limits."""
        declared = response.headers.get("content-length", "")
        if declared.isdigit() and offset + int(declared) > self._settings.max_size:
            raise self._too_large()
        size, is_checked = offset, False
        try:
            for piece in self._pieces(response):
                size += len(piece)
                if size > self._settings.max_size:
                    raise self._too_large()
                part.write(piece)
                if size >= HEAD and not is_checked:
                    is_checked = bool(self._checked_type(part))
                    part.file.seek(0, 2)
                if self._progress:
                    self._progress(size)
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            reason = f"The body ended after {size:,} bytes, before it was complete: {error}"
            raise _Failed(FailureKind.BODY, reason, retriable=True) from error
        except BadEncoding as error:
            raise _Failed(FailureKind.ENCODING, str(error)) from error

    def _pieces(self, response: Answer) -> Iterator[bytes]:
        """The body, unpacked unless the job itself has asked for an encoding."""
        if "accept-encoding" in _names(self._wanted.headers):
            return response.iter_raw()
        return decoded(response.iter_raw(), response.headers.get("content-encoding", ""))

    def _too_large(self) -> _Failed:
        return _Failed(FailureKind.SIZE, f"The file is larger than {self._settings.max_size:,} bytes.")

    def _checked_type(self, part: PartialFile) -> str:
        part.file.seek(0)
        head = part.file.read(HEAD)
        found = mime_type_of(head, is_whole=part.size <= HEAD)
        if fault := self._patterns.fault_of(found):
            raise _Failed(FailureKind.MIME, fault)
        return found

    def _image_size(self, part: PartialFile, mime_type: str) -> str:
        if not self._wanted.extract_image_size:
            return ""
        try:
            return image_size(part.file, mime_type)
        except BadImage as error:
            raise _Failed(FailureKind.IMAGE, str(error)) from error


def _sent_headers(wanted: Download, settings: JobSettings) -> dict[str, str]:
    """The headers of the settings, replaced by those of the job. A body that is not packed can be continued."""
    given = check_headers(dict(wanted.headers))
    common = {"accept-encoding": "identity"} | {name.lower(): value for name, value in settings.request_headers.items()}
    return common | {name.lower(): value for name, value in given.items()}


def _names(headers: Mapping[str, str]) -> set[str]:
    return {name.lower() for name in headers}


def _origin(response: Answer, url: str) -> Origin | None:
    """What the bytes of an answer come from; None if it cannot be continued."""
    etag = response.headers.get("etag", "")
    validator = etag if etag.startswith('"') else response.headers.get("last-modified", "")
    is_packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    return Origin(url, validator) if validator and not is_packed else None


def _first_byte(response: Answer) -> int:
    """The place at which a partial answer begins; -1 if it does not say so."""
    unit, _, rest = response.headers.get("content-range", "").partition(" ")
    first = rest.partition("-")[0]
    return int(first) if unit == "bytes" and first.isascii() and first.isdigit() else -1


def _of_storage(error: Exception, *, retriable: bool) -> Failure:
    return Failure(kind=FailureKind.STORAGE, reason=f"The file cannot be stored: {error}", retriable=retriable)
