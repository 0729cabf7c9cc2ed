"""Callbacks of a job, as the store keeps them with the job: the end of the job creates one of them in the same call.

A callback is a record of its own, in the lane of the host to which it goes. It has the URL, the job's id, url and
extra. The store adds the job's result, or how the job ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

from queueops import conf
from queueops.errors import BadOption, PayloadTooLarge
from queueops.kinds.jobs import defaults
from queueops.kinds.jobs.lane_names import lane_of_destination
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import LaneOfJobs
from queueops.model.contracts import Conflict, Push
from queueops.tasks.encoding import encode_arguments

CALLBACK = "callback"
"""The kind of the record, and its name."""
UNSUCCESSFUL = ("failure", "cancelled", "crashed")
"""Outcomes of a job without success that its callback tells of. A discarded or a deleted job has no callback."""
LONGEST_URL = 8_000


class Targets(msgspec.Struct, frozen=True):
    """Where the outcome of a job goes; empty texts: nowhere."""

    success: str = ""
    error: str = ""

    @property
    def lanes(self) -> tuple[LaneOfJobs, ...]:
        """The lanes that the callbacks need."""
        return tuple(dict.fromkeys(_destination(url) for url in (self.success, self.error) if url))


def read_targets(given: Mapping[str, Any]) -> Targets:
    """The targets of `callback_url` and `callback_error_url`, by default the same. Raises BadOption."""
    success = _url("callback_url", given.get("callback_url") or "")
    return Targets(success, _url("callback_error_url", given.get("callback_error_url") or "") or success)


def encode_callbacks(push: Push, content: Mapping[str, Any], targets: Targets) -> str:
    """The callbacks of a job as the store reads them; empty without any. Raises PayloadTooLarge."""
    about = {"job": push.id, "url": content["url"], "extra": content["extra"], "handler": push.name}
    plans = []
    if targets.success:
        plans.append(_plan(push, ("success",), about | {"to": targets.success, "success": True}))
    if targets.error:
        plans.append(_plan(push, UNSUCCESSFUL, about | {"to": targets.error, "success": False}))
    data, limit = msgspec.json.encode(plans), conf.current().payload_limit
    if len(data) > limit:
        raise PayloadTooLarge(what="callbacks", name=push.name, size=len(data), limit=limit)
    return data.decode() if plans else ""


def _plan(push: Push, outcomes: tuple[str, ...], arguments: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "n": CALLBACK,
        "k": CALLBACK,
        "l": _destination(str(arguments["to"])).lane,
        "r": str(of_jobs().callback_retry.retries),
        "rp": of_jobs().callback_retry.policy().explicit(),
        "t": str(round(attempt_seconds() * 1000)),
        "a": encode_arguments(CALLBACK, (), arguments).decode(),
    }
    return {
        "on": outcomes,
        "pool": push.pool,
        "id": "",
        "policy": str(Conflict.NEW),
        "due": "",
        "alone": False,
        "fields": [part for pair in fields.items() for part in pair],
    }


def attempt_seconds() -> float:
    """The time limit of one attempt of a callback: that of its request, and of what comes before and after it."""
    return of_jobs().callback_timeout + defaults.BESIDE_THE_REQUEST


def host_of(url: str) -> str:
    """The host of a target, with its port if the URL names one: callbacks to it share a lane."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


@lru_cache(maxsize=1024)
def _destination(url: str) -> LaneOfJobs:
    """The lane of the callbacks to the host of a URL."""
    host = host_of(url)
    return LaneOfJobs(lane_of_destination(host), host, defaults.DESTINATION_LIMIT)


def _url(name: str, value: Any) -> str:
    """A URL of HTTP, or an empty text. Its host is checked before each connection."""
    if value == "":
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_URL or not value.isprintable() or not _has_host(value):
        raise BadOption(name=name, value=value, expected="a URL such as https://example.com/done")
    return value


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in url
    except ValueError:
        return False
