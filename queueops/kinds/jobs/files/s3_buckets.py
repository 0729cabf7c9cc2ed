"""Buckets of S3: the storages of downloads whose job names a bucket, and where a file is.

Such a file is named `s3://<bucket>/<name in the bucket>`; any other name is one in the default storage. All buckets
have the options of `STORAGES["s3"]`, or without that entry those of the settings `AWS_...`. Each has its region.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

from django.core.files.storage import Storage, default_storage, storages
from django.utils.module_loading import import_string

from queueops.errors import BadOption
from queueops.errors.job_network import BucketUnknown
from queueops.kinds.jobs.settings import JobSettings, of_jobs

SCHEME, ALIAS = "s3://", "s3"
"""The beginning of the name of a file in a bucket; the entry of STORAGES with the options of all buckets."""
BACKEND = "storages.backends.s3.S3Storage"
PACKAGES = ("boto3", "storages")
"""What the extra `s3` installs, by the names that are imported."""
BUCKET, REGION = "s3_bucket", "s3_region"
"""Options of a download."""


def check_bucket(bucket: object, region: object, settings: JobSettings) -> str:
    """The same bucket, if files may go there; empty without one. Raises BadOption."""
    given = {BUCKET: bucket, REGION: region}
    for name, value in given.items():
        if not isinstance(value, str):
            raise BadOption(name=name, value=value, expected="a text")
    if not bucket and not region:
        return ""
    for name, value in given.items():
        if not value:
            raise BadOption(name=name, value=value, expected=f"given: {BUCKET} and {REGION} belong together")
    if missing := missing_packages():
        expected = f"left out, as packages are missing ({', '.join(missing)}): pip install 'queueops[s3]'"
        raise BadOption(name=BUCKET, value=bucket, expected=expected)
    if not (known := settings.s3_buckets.get(str(bucket))):
        raise BadOption(name=BUCKET, value=bucket, expected="a bucket of the setting QUEUEOPS['JOBS']['S3_BUCKETS']")
    if region != known:
        raise BadOption(name=REGION, value=region, expected=f"{known!r}, the region of the bucket {bucket}")
    return str(bucket)


def missing_packages() -> list[str]:
    """Which packages of the extra `s3` are not installed."""
    return [name for name in PACKAGES if not _is_installed(name)]


def bucket_of(path: str) -> str:
    """The bucket of a file; empty for one in the default storage."""
    return path.removeprefix(SCHEME).partition("/")[0] if path.startswith(SCHEME) else ""


def name_of(path: str) -> str:
    """The name that a file has in its storage."""
    return path.removeprefix(SCHEME).partition("/")[2] if path.startswith(SCHEME) else path


def path_in(bucket: str, name: str) -> str:
    """How a file is named by its bucket (empty: the default storage) and its name there."""
    return f"{SCHEME}{bucket}/{name}" if bucket else name


def storage_of(bucket: str) -> Storage:
    """The storage of a bucket, kept by this process; the default storage without one. Raises BucketUnknown."""
    if not bucket:
        return default_storage
    given, place = _entry(bucket), (os.getpid(), bucket)  # a child process has connections of its own
    if place not in _kept or _kept[place][0] != given:
        _kept[place] = given, _backend(given["BACKEND"])(**given["OPTIONS"])
    return _kept[place][1]


def forget() -> None:
    """Close the connections of the kept storages."""
    for _, storage in _kept.values():
        storage.connection.meta.client.close()  # type: ignore[attr-defined]  # that of django-storages has one
    _kept.clear()


@contextmanager
def metadata(values: Mapping[str, str]) -> Iterator[None]:
    """Store the files of the block with these metadata, if they go to a bucket."""
    token = _metadata.set(values)
    try:
        yield
    finally:
        _metadata.reset(token)


def _entry(bucket: str) -> dict[str, Any]:
    """The entry of STORAGES that the bucket would have."""
    region = of_jobs().s3_buckets.get(bucket)
    if region is None or missing_packages():
        raise BucketUnknown(bucket=bucket)
    given = cast("dict[str, Any]", storages.backends).get(ALIAS, {})
    options = dict(given.get("OPTIONS", {})) | {"bucket_name": bucket, "region_name": region}
    return {"BACKEND": given.get("BACKEND", BACKEND), "OPTIONS": options}


@cache
def _backend(name: str) -> Any:
    """A storage class whose files have the metadata of their block."""
    base: Any = import_string(name)

    class BucketStorage(base):  # type: ignore[misc]  # a class that is known at run time
        def get_object_parameters(self, name: str) -> dict[str, Any]:
            values = _metadata.get()
            found: dict[str, Any] = super().get_object_parameters(name)
            return found | {"Metadata": found.get("Metadata", {}) | dict(values)} if values else found

    return BucketStorage


@cache
def _is_installed(name: str) -> bool:
    return find_spec(name) is not None


_metadata: ContextVar[Mapping[str, str]] = ContextVar("metadata of files in S3", default={})  # noqa: B039 - it is read alone
_kept: dict[tuple[int, str], tuple[dict[str, Any], Storage]] = {}
