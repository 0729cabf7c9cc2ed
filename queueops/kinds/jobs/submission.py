"""Submission of jobs: checks one job's options, and makes the record that the store creates."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypedDict

from queueops import conf
from queueops.control.lanes import ALLOWED, is_allowed
from queueops.errors import BadOption, UnknownOption, advice
from queueops.kinds.jobs import defaults
from queueops.kinds.jobs.aggregations.lane_names import lane_of_aggregation
from queueops.kinds.jobs.aggregations.lane_settings import first_settings
from queueops.kinds.jobs.callbacks.callback_plans import encode_callbacks, read_targets
from queueops.kinds.jobs.files.download_options import DOWNLOAD, read_download
from queueops.kinds.jobs.settings import RetryRule, of_jobs
from queueops.kinds.jobs.store import JOB, LaneOfJobs, NewJob
from queueops.model.contracts import Conflict, Push
from queueops.model.durations import Delay
from queueops.model.ids import check_lane, new_id
from queueops.model.retry import Retry
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.tasks import registry
from queueops.tasks.encoding import encode_arguments
from queueops.tasks.options import Options

JOB_STATES = (
    State.POSTPONED, State.PENDING, State.LOCKED, State.RESTART, State.QUARANTINED, State.SUCCEEDED, State.FAILED,
    State.CANCELLED,
)  # fmt: skip
"""States of jobs. A job has no parts, and waits for no other task."""


LONGEST_FINGERPRINT = 64


class JobOptions(TypedDict, total=False):
    """What a job may be given beside its aggregation, for type checkers."""

    url: str
    callback_url: str
    callback_error_url: str
    callback_type: str
    callback_dst: str
    callback_error_type: str
    callback_error_dst: str
    limit: int | None
    rate: float | None
    handler: str
    extra: str
    options: Mapping[str, Any] | None
    id: str | None
    fingerprint: str
    pool: str
    priority: int
    retries: int
    retry: Retry
    timeout: float | timedelta | None
    tags: Iterable[str]
    keep: float | timedelta | None
    delay: Delay | None


KNOWN = dict.fromkeys(JobOptions.__annotations__)
OF_TASKS = ("pool", "priority", "retries", "retry", "timeout", "tags", "keep", "delay", "id")
"""Options that a job has like every task."""


def new_job(aggregation: str, given: Mapping[str, Any]) -> NewJob:
    """The record of a job, and the lanes that it needs. Raises BadOption, BadId, UnknownOption and PayloadTooLarge.

    A download also raises AddressRefused and HeaderRefused.
    """
    for name in given:
        if name not in KNOWN:
            raise UnknownOption(what="A job", name=name, advice=advice(name, KNOWN))
    lane = LaneOfJobs(
        lane_of_aggregation(aggregation),
        aggregation,
        first_settings(
            limit=_bound("limit", given.get("limit")) or defaults.LIMIT,
            rate=_bound("rate", given.get("rate")),
            idle=of_jobs().aggregation_idle,
        ),
        _proxy(given.get("options")),
    )
    options = _usual(of_jobs().retry)
    if own := {name: given[name] for name in OF_TASKS if name in given}:
        options = options.but(**own)
    handler = check_lane(given.get("handler", DOWNLOAD), "name of a handler")
    content: dict[str, Any] = {
        "aggregation": aggregation,
        "url": _text(given, "url", ""),
        "extra": _text(given, "extra", ""),
        "options": _options(given.get("options")),
    }
    if handler == DOWNLOAD and (JOB, DOWNLOAD) not in registry.handlers():
        read_download(options.id or "", content["url"], content["options"], extra=content["extra"])
    push = Push(
        id=options.id or new_id(),
        kind=JOB,
        name=handler,
        args=encode_arguments(handler, (), content),
        **options.push_fields(conf.current()) | {"lane": lane.lane},
    )
    push.conflict, push.token = (Conflict.IGNORE, os.urandom(6).hex()) if options.id else (Conflict.NEW, "")
    targets = read_targets(given)
    if callbacks := encode_callbacks(push, content, targets):
        push.own = (*push.own, ("fu", callbacks))
    if fingerprint := _fingerprint(given):
        push.own = (*push.own, ("fp", fingerprint))
    return NewJob(push, (lane, *targets.lanes(push.pool)))


@lru_cache(maxsize=64)
def _usual(rule: RetryRule) -> Options:
    """The options of a job that sets none."""
    return Options(retries=rule.retries, retry=rule.policy())


def _proxy(options: Any) -> str:
    """The proxy of a download. That of the first job is the proxy of its aggregation; a wrong one is refused later."""
    found = options.get("proxy") if isinstance(options, Mapping) else None
    return found if isinstance(found, str) else ""


def _bound(name: str, value: Any) -> Any:
    if value is not None and not is_allowed(name, value):
        raise BadOption(name=name, value=value, expected=say("%(range)s, or None", range=ALLOWED[name]))
    return value


def _text(given: Mapping[str, Any], name: str, default: str) -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise BadOption(name=name, value=value, expected="a text")
    return value


def _fingerprint(given: Mapping[str, Any]) -> str:
    found = _text(given, "fingerprint", "")
    if len(found) > LONGEST_FINGERPRINT or (found and not given.get("id")):
        expected = f"a text of at most {LONGEST_FINGERPRINT} characters, beside an id of your own"
        raise BadOption(name="fingerprint", value=found, expected=expected)
    return found


def _options(value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise BadOption(name="options", value=value, expected="a dict, or None")
    return dict(value or {})
