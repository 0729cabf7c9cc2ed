"""Transfer: reads one representation of a file, in one answer or in several parts.

Parts are joined only if they are of one representation: same validator, same size, same address. Else it begins anew,
once in an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from queueops.kinds.jobs.files.body_digest import fault_of_digest
from queueops.kinds.jobs.files.download_options import Download
from queueops.kinds.jobs.files.file_store import Origin, PartialFile
from queueops.kinds.jobs.files.partial_content import OtherPart, end_of_part, has_range, is_packed, length_of, origin_of
from queueops.kinds.jobs.http.body_decoding import decoded
from queueops.kinds.jobs.http.http_client import REDIRECTS, Answer, Deadline, answer_to
from queueops.kinds.jobs.http.http_failures import AttemptFailed, FailureKind, failure_of_status
from queueops.kinds.jobs.http.net_guard import check_headers, check_url
from queueops.kinds.jobs.settings import JobSettings

PARTIAL, NOT_SATISFIABLE = 206, 416


class Transfer:
    """The way of a file from its server into a partial file."""

    def __init__(
        self,
        wanted: Download,
        settings: JobSettings,
        look: Callable[[PartialFile, int], None] = lambda part, size: None,
    ) -> None:
        self._wanted, self._settings, self._look = wanted, settings, look
        self._deadline = Deadline(wanted.timeout or settings.download_timeout)
        self._headers = _sent_headers(wanted, settings)
        self._keeps_packed = any(name.lower() == "accept-encoding" for name in wanted.headers)
        self.status: int | None = None  # of the last answer
        self.resumed_at = 0  # bytes that an earlier attempt had read

    def fetch(self, part: PartialFile) -> None:
        """Read the whole file."""
        self.resumed_at = offset = self._offset(part)
        is_anew = is_whole = False
        while not is_whole:
            try:
                is_whole = self._fetch_part(part, offset)
            except OtherPart as other:
                self._begin(part, None)
                if not offset or is_anew:
                    raise AttemptFailed(FailureKind.PROTOCOL, f"The answer {other}.") from other
                is_anew = True
            offset = self._offset(part)

    def _offset(self, part: PartialFile) -> int:
        """The place from which another answer can continue."""
        origin = part.origin()
        return part.size if origin and origin.url == self._wanted.url and not self._keeps_packed else 0

    def _fetch_part(self, part: PartialFile, offset: int) -> bool:
        """Read an answer. Gives whether the file is whole then. Raises OtherPart, also if no other can follow."""
        origin = part.origin() if offset else None
        more = {"range": f"bytes={offset}-", "if-range": origin.validator} if origin else {}
        with answer_to(
            "GET",
            check_url(self._wanted.url, "url", self._settings),
            what="url",
            headers=self._headers | more,
            settings=self._settings,
            deadline=self._deadline,
            proxy=self._wanted.proxy,
        ) as answer:
            self.status = answer.status_code
            if offset and self.status == NOT_SATISFIABLE:
                raise OtherPart("has no such part of the file")
            _check_status(answer)
            if self.status != PARTIAL and not has_range(answer):
                self._begin(part, origin_of(answer, self._wanted.url, length_of(answer)))
                self._read(answer, part, 0, None)
                self._check_digest(answer, part, is_part=False)
                return True
            end, total = end_of_part(answer, offset, origin)
            if not offset:
                self._begin(part, origin_of(answer, self._wanted.url, total))
            if end < total and part.origin() is None:
                raise OtherPart("has a part of the file that cannot be continued")
            self._read(answer, part, offset, end)
            if end == total:
                self._check_digest(answer, part, is_part=True)
            return end == total

    def _begin(self, part: PartialFile, origin: Origin | None) -> None:
        part.begin(None if self._keeps_packed else origin)
        self.resumed_at = 0

    def _read(self, answer: Answer, part: PartialFile, offset: int, end: int | None) -> None:
        """Read the body to its end, with all limits."""
        most, size = self._settings.max_size, offset
        if offset + (length_of(answer) or 0) > most:
            raise _too_large(most)
        part.file.seek(offset)
        for piece in self._pieces(answer):
            size += len(piece)
            if size > most:
                raise _too_large(most)
            if end is not None and size > end:
                break
            part.write(piece)
            self._look(part, size)
        if end is not None and size != end:
            raise OtherPart("has another part of the file than it says")

    def _check_digest(self, answer: Answer, part: PartialFile, *, is_part: bool) -> None:
        """Compare what is stored with the digests that the server has told. Members of gzip have their own."""
        if is_packed(answer) and not self._keeps_packed:
            return
        if name := fault_of_digest(part.file, answer.headers, is_part=is_part):
            self._begin(part, None)
            raise AttemptFailed(FailureKind.BODY, f"The file has another checksum ({name}) than the answer says.")

    def _pieces(self, answer: Answer) -> Iterator[bytes]:
        """The body, unpacked unless the job itself has asked for an encoding."""
        if self._keeps_packed:
            return answer.iter_raw()
        return decoded(answer.iter_raw(), answer.headers.get("content-encoding", ""))


def _sent_headers(wanted: Download, settings: JobSettings) -> dict[str, str]:
    """The headers of the settings, replaced by those of the job. A body that is not packed can be continued."""
    given = check_headers(dict(wanted.headers))
    return {name.lower(): value for name, value in (*settings.request_headers.items(), *given.items())}


def _check_status(answer: Answer) -> None:
    if answer.status_code >= 400 or answer.status_code in REDIRECTS:
        failed = AttemptFailed(FailureKind.STATUS, "")
        failed.failure = failure_of_status(answer.status_code, answer.headers.get("retry-after", ""))
        raise failed


def _too_large(most: int) -> AttemptFailed:
    return AttemptFailed(FailureKind.SIZE, f"The file is larger than {most:,} bytes.", retriable=False)
