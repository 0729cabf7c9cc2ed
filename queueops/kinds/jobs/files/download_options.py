"""Options of the handler `download`: what a job asks for, checked when it is handed in and again when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from queueops.errors import BadOption, UnknownOption, advice
from queueops.errors.job_network import HeaderRefused
from queueops.kinds.jobs.files.file_store import check_subpath
from queueops.kinds.jobs.files.mime import MimePatterns
from queueops.kinds.jobs.files.s3_buckets import check_bucket
from queueops.kinds.jobs.files.s3_metadata import read_metadata
from queueops.kinds.jobs.http.net_guard import check_headers, check_url
from queueops.kinds.jobs.settings import JobSettings, of_jobs

DOWNLOAD = "download"
"""The name of the handler that QueueOps brings."""
LONGEST = 86_400
"""Most seconds of `download_timeout`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """What a job asks for."""

    id: str
    url: str
    subpath: str = ""
    mime_type: str = ""  # patterns, as in `mime`
    extract_image_size: bool = False
    timeout: float | None = None  # seconds in all; None = the setting
    headers: Mapping[str, str] = field(default_factory=dict)
    proxy: str = ""
    bucket: str = ""  # of S3; empty = the default storage
    metadata: Mapping[str, str] = field(default_factory=dict)  # of the file in S3


def read_download(
    id: str, url: str, options: Mapping[str, Any], settings: JobSettings | None = None, *, extra: str = ""
) -> Download:
    """What a job asks for. Raises BadOption, UnknownOption, AddressRefused and HeaderRefused."""
    settings = settings or of_jobs()
    for name in options:
        if name not in OPTIONS:
            raise UnknownOption(what="The handler download", name=name, advice=advice(name, OPTIONS))
    check_url(url, "url", settings)
    if proxy := _text(options, "proxy"):
        check_url(proxy, "proxy", settings)
    mime_type = _text(options, "mime_type")
    MimePatterns.read(mime_type)
    bucket = check_bucket(options.get("s3_bucket", ""), options.get("s3_region", ""), settings)
    return Download(
        id=id,
        url=url,
        subpath=check_subpath(options.get("subpath", "")),
        mime_type=mime_type,
        extract_image_size=_flag(options, "extract_image_size"),
        timeout=_seconds(options, "download_timeout"),
        headers=_headers(options.get("request_headers") or {}),
        proxy=proxy,
        bucket=bucket,
        metadata=read_metadata(extra) if bucket else {},
    )


def _text(options: Mapping[str, Any], name: str) -> str:
    value = options.get(name, "")
    if not isinstance(value, str):
        raise BadOption(name=name, value=value, expected="a text")
    return value


def _flag(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise BadOption(name=name, value=value, expected="true or false")
    return value


def _seconds(options: Mapping[str, Any], name: str) -> float | None:
    if name not in options:
        return None
    value = options[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST:
        raise BadOption(name=name, value=value, expected=f"a number of seconds, over 0 and at most {LONGEST:,}")
    return float(value)


def _headers(value: Any) -> dict[str, str]:
    try:
        return check_headers(value)
    except HeaderRefused as error:
        error.add_note("They are the option request_headers.")
        raise


OPTIONS = (
    "subpath", "s3_bucket", "s3_region", "mime_type", "extract_image_size", "download_timeout", "request_headers",
    "proxy",
)  # fmt: skip
"""Every option of the handler."""
