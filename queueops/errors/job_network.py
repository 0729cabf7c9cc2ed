"""Error classes of the requests that jobs make. See ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class AddressRefused(QueueOpsError, ValueError):
    """The {what} {url} is refused: {reason}.

    No connection was made. The URL of the message has no credentials.
    """

    what: str
    url: str
    reason: str


class HeaderRefused(QueueOpsError, ValueError):
    """The request headers are refused: {reason}."""

    reason: str


class DownloadFailed(QueueOpsError):
    """{code}The download failed ({kind}). {reason}

    The code is that of the answer if its status was the fault; `response_code` is that of any answer, 0 without one.
    """

    code: str
    kind: str
    reason: str
    response_code: int


class StorageNotReady(QueueOpsError):
    """The storage of downloads cannot be used ({storage}): {reason}. Mend it. A worker that runs no download
    needs no storage: set QUEUEOPS['JOBS']['CHECK_STORAGE'] to False there.
    """

    storage: str
    reason: str


class BucketUnknown(QueueOpsError):
    """The bucket {bucket} of S3 cannot be used here. Name it in QUEUEOPS['JOBS']['S3_BUCKETS'], and install
    queueops[s3].
    """

    bucket: str


class BucketNotRead(QueueOpsError):
    """The bucket {bucket} of S3 cannot be read: {reason}. Mend its settings or its permissions."""

    bucket: str
    reason: str
