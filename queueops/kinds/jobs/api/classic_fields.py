"""Fields of `POST /download`: a body of the older downloader, as the arguments of `jobs.submit`.

Its numbers may have a fraction, which is cut off. Unknown fields are refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queueops.errors import BadOption, UnknownOption, advice

TEXT, NUMBER, SWITCH = "a text", "a number", "true or false"
FIELDS = (
    "url", "aggr_id", "aggr_limit", "aggr_proxy", "callback_url", "callback_type", "callback_dst",
    "callback_error_type", "callback_error_dst", "s3_bucket", "s3_region", "subpath", "extra", "mime_type",
    "max_retries", "extract_image_size", "download_timeout", "request_headers",
)  # fmt: skip
IN_STORAGE = ("subpath", "s3_bucket", "s3_region")


def read_body(data: bytes) -> dict[str, Any]:
    """The arguments of `jobs.submit`. Raises BadOption with the wrong field, also for a body that is no object."""
    try:
        given = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise BadOption(name="body", value="...", expected="a JSON object")
    for name in given:
        if name not in FIELDS:
            raise UnknownOption(what="A download", name=name, advice=advice(name, FIELDS))
    return {
        "aggregation": _text(given, "aggr_id", needed=True),
        "limit": _whole(given, "aggr_limit", 1, needed=True),
        "url": _text(given, "url", needed=True),
        "extra": given["extra"] if isinstance(given.get("extra"), str) else "",  # another type was always dropped
        "options": _options(given),
        **_targets(given),
        **({"retries": _whole(given, "max_retries", 0)} if "max_retries" in given else {}),
    }


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the download."""
    found: dict[str, Any] = {"proxy": _text(given, "aggr_proxy")}
    found |= {name: _text(given, name) for name in (*IN_STORAGE, "mime_type")}
    if "extract_image_size" in given:
        found["extract_image_size"] = _value(given, "extract_image_size", bool, SWITCH)
    if "download_timeout" in given:
        found["download_timeout"] = _whole(given, "download_timeout", 1)
    if "request_headers" in given:
        found["request_headers"] = _value(given, "request_headers", dict, "an object of texts")
    return {name: value for name, value in found.items() if value != ""}


def _targets(given: Mapping[str, Any]) -> dict[str, str]:
    """Where the outcome goes. `callback_url` wins; without it, type and destination are needed, or a bucket."""
    if isinstance(url := given.get("callback_url"), str):
        if not url:
            raise BadOption(name="callback_url", value=url, expected="a URL")
        return {"callback_url": url}
    if given.get("s3_bucket") and not given.keys() & {"callback_type", "callback_dst"}:
        return {}
    found = {name: _text(given, name, needed=True) for name in ("callback_type", "callback_dst")}
    if "callback_error_dst" in given:
        found["callback_error_type"] = _text(given, "callback_error_type") or found["callback_type"]
        found["callback_error_dst"] = _text(given, "callback_error_dst", needed=True)
    return found


def _text(given: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    value: str = _value(given, name, str, TEXT) if needed or name in given else ""
    if needed and not value:
        raise BadOption(name=name, value=value, expected="a text that is not empty")
    return value


def _whole(given: Mapping[str, Any], name: str, least: int, *, needed: bool = False) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or int(value) < least:
        raise BadOption(name=name, value=value, expected=f"{NUMBER} from {least}")
    return int(value)


def _value(given: Mapping[str, Any], name: str, kind: type, expected: str) -> Any:
    value = given.get(name)
    if not isinstance(value, kind):
        raise BadOption(name=name, value=value, expected=expected)
    return value
