"""Callbacks of a job, as the store keeps them with the job: the end of the job creates one of them in the same call.

A callback is a record of its own, in the lane of the host or topic to which it goes. It has its target, and the job's
id, url and extra. The store adds the job's result, or how the job ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queueops import conf
from queueops.errors import BadOption, PayloadTooLarge
from queueops.kinds.jobs import defaults
from queueops.kinds.jobs.aggregations.lane_settings import destination
from queueops.kinds.jobs.callbacks.callback_senders import HTTP, check_destination, check_type, sender_of
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import LaneOfJobs
from queueops.model.contracts import Conflict, Push
from queueops.tasks.encoding import encode_arguments

CALLBACK = "callback"
"""The kind of the record, and its name."""
UNSUCCESSFUL = ("failure", "cancelled", "crashed")
"""Outcomes of a job without success that its callback tells of. A discarded or a deleted job has no callback."""


NAMES = {prefix: (f"{prefix}_url", f"{prefix}_type", f"{prefix}_dst") for prefix in ("callback", "callback_error")}
"""The options of a target, by their beginning."""


class Target(msgspec.Struct, frozen=True):
    """Where a callback goes: how it is sent, and the destination for that sender."""

    kind: str
    destination: str

    @property
    def place(self) -> str:
        """What receives it: callbacks to the same place share a lane."""
        return sender_of(self.kind).place(self.destination)

    def lane(self, pool: str) -> LaneOfJobs:
        """The lane of its callbacks."""
        return destination(self.place, pool)

    @property
    def named(self) -> dict[str, str]:
        """Its part of the arguments of a callback. HTTP is not named."""
        return {"to": self.destination} | ({} if self.kind == HTTP else {"by": self.kind})


class Targets(msgspec.Struct, frozen=True):
    """Where the outcome of a job goes; None: nowhere."""

    success: Target | None = None
    error: Target | None = None

    def lanes(self, pool: str) -> tuple[LaneOfJobs, ...]:
        """The lanes that the callbacks need."""
        return tuple(dict.fromkeys(each.lane(pool) for each in (self.success, self.error) if each is not None))


def read_targets(given: Mapping[str, Any]) -> Targets:
    """The targets of a job. That of an error is by default that of a success. Raises BadOption."""
    success = _target(given, "callback", HTTP)
    error = _target(given, "callback_error", success.kind if success is not None else HTTP)
    return Targets(success, error or success)


def target_of(named: Mapping[str, Any]) -> Target:
    """The target in the arguments of a callback. Raises KeyError."""
    return Target(str(named.get("by") or HTTP), str(named["to"]))


def _target(given: Mapping[str, Any], prefix: str, usual: str) -> Target | None:
    """The target of the options `<prefix>_url`, or `<prefix>_type` and `<prefix>_dst`."""
    of_url, of_type, of_destination = NAMES[prefix]
    url, kind, destination = given.get(of_url) or "", given.get(of_type) or "", given.get(of_destination) or ""
    if url:
        for name, value in ((of_type, kind), (of_destination, destination)):
            if value:
                raise BadOption(name=name, value=value, expected=f"nothing beside {of_url}")
        return Target(HTTP, check_destination(HTTP, url, f"{prefix}_url"))
    if not kind and not destination:
        return None
    if not isinstance(kind, str):
        raise BadOption(name=f"{prefix}_type", value=kind, expected="a text")
    if not kind and prefix == "callback":
        raise BadOption(name=f"{prefix}_type", value=kind, expected=f"a type, such as {HTTP}, with {prefix}_dst")
    kind = check_type(kind or usual, f"{prefix}_type")
    return Target(kind, check_destination(kind, destination, f"{prefix}_dst"))


def encode_callbacks(push: Push, content: Mapping[str, Any], targets: Targets) -> str:
    """The callbacks of a job as the store reads them; empty without any. Raises PayloadTooLarge."""
    about = {"job": push.id, "url": content["url"], "extra": content["extra"], "handler": push.name}
    plans = []
    if targets.success is not None:
        plans.append(_plan(push, ("success",), targets.success, about | {"success": True}))
    if targets.error is not None:
        plans.append(_plan(push, UNSUCCESSFUL, targets.error, about | {"success": False}))
    data, limit = msgspec.json.encode(plans), conf.current().payload_limit
    if len(data) > limit:
        raise PayloadTooLarge(what="callbacks", name=push.name, size=len(data), limit=limit)
    return data.decode() if plans else ""


def _plan(push: Push, outcomes: tuple[str, ...], target: Target, about: Mapping[str, Any]) -> dict[str, Any]:
    lane = target.lane(push.pool)
    arguments, ring = encode_arguments(CALLBACK, (), {**target.named, **about}), conf.keyring()
    fields = {
        "n": CALLBACK,
        "k": CALLBACK,
        "l": lane.lane,
        "ld": lane.settings,
        "r": str(of_jobs().callback_retry.retries),
        "rp": of_jobs().callback_retry.stored(),
        "t": str(round(attempt_seconds() * 1000)),
        "a": arguments.decode() if ring is None else ring.seal(arguments).decode(),
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
