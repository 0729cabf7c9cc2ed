"""Download URL: where a stored file is found, made when a callback is sent or a page is shown."""

from __future__ import annotations

from urllib.parse import quote

from queueops.errors.job_network import BucketUnknown
from queueops.kinds.jobs.files.s3_buckets import bucket_of, name_of, storage_of
from queueops.kinds.jobs.settings import of_jobs


def download_url(path: str) -> str:
    """Where a stored file is found: below the setting DOWNLOAD_URL, else where its storage says; empty if unknown.

    DOWNLOAD_URL is that of the default storage. The storage of a bucket may sign the URL, which then has an end.
    """
    bucket = bucket_of(path)
    if (base := of_jobs().download_url) and not bucket:
        return f"{base.rstrip('/')}/{quote(path)}"
    try:
        return str(storage_of(bucket).url(name_of(path)))
    except (NotImplementedError, ValueError, BucketUnknown):  # the first two say that files of a storage have no URL
        return ""
