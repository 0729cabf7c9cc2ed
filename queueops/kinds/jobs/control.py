"""Actions on aggregations, callbacks and tokens of the API."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from queueops import conf
from queueops.control.lanes import UNCHANGED, pause_lane, resume_lane, set_lane
from queueops.control.per_pool_calls import act, checked, located
from queueops.errors import BadOption
from queueops.errors.jobs import AggregationInUse
from queueops.kinds.jobs.aggregations.lane_names import lane_of_aggregation, lane_of_destination
from queueops.kinds.jobs.api_tokens import NewApiToken, create_api_token, revoke_api_token
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK, Target, attempt_seconds, read_targets
from queueops.kinds.jobs.callbacks.callback_senders import HTTP
from queueops.kinds.jobs.callbacks.circuits import address_of
from queueops.kinds.jobs.callbacks.resend_callbacks import NO_CALLBACK, Pace, send_again
from queueops.kinds.jobs.files.file_control import delete_file, keep_file
from queueops.kinds.jobs.http.net_guard import check_url, public_addresses
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JobCalls, NewJob
from queueops.model.contracts import Conflict, Push, Row
from queueops.model.ids import new_id
from queueops.model.states import TERMINAL, State
from queueops.redis.broker import get_role
from queueops.results.handle import TaskHandle
from queueops.tasks.encoding import encode_arguments
from queueops.tasks.options import Options

__all__ = [
    "NewApiToken",
    "accept_jobs",
    "close_circuit",
    "create_api_token",
    "delete_aggregation",
    "delete_file",
    "discard_callbacks",
    "drain_aggregation",
    "keep_file",
    "pause_aggregation",
    "redeliver_callbacks",
    "redirect_callbacks",
    "resume_aggregation",
    "revoke_api_token",
    "send_test_callback",
    "set_aggregation",
    "set_proxy",
    "start_maintenance",
    "stop_maintenance",
]

DISCARDED = "discarded by an operator"
LONGEST_REASON = 500
"""Characters that are kept of a reason."""


def set_aggregation(
    id: str, pool: str = "default", *, limit: Any = UNCHANGED, rate: Any = UNCHANGED, new: bool = False
) -> dict[str, str]:
    """Change the limit and the rate of an aggregation; None takes one away. Returns the settings before.

    Raises BadOption and, unless the aggregation is `new`, UnknownLane.
    """
    return set_lane(pool, lane_of_aggregation(id), limit=limit, rate=rate, new=new)


def pause_aggregation(id: str, pool: str = "default", *, new: bool = False) -> dict[str, str]:
    """Pause an aggregation: it starts no job; running jobs continue. Returns the settings before."""
    return pause_lane(pool, lane_of_aggregation(id), new=new)


def drain_aggregation(id: str, pool: str = "default") -> bool:
    """Let an aggregation take no more jobs; those that are there run to their end. False if it does not exist."""
    return _on_aggregation(id, pool, "drain")[0]


def accept_jobs(id: str, pool: str = "default") -> bool:
    """Let a drained aggregation take jobs again. False if it does not exist."""
    return _on_aggregation(id, pool, "accept")[0]


def set_proxy(id: str, proxy: str, pool: str = "default") -> bool:
    """Set the proxy of the downloads of an aggregation, from the next attempt on; empty: no proxy.

    False if it does not exist. Raises AddressRefused.
    """
    if proxy:
        check_url(proxy, "proxy", of_jobs())
    return _on_aggregation(id, pool, "proxy", proxy)[0]


def delete_aggregation(id: str, pool: str = "default") -> bool:
    """Delete an aggregation with its settings. False if it does not exist. Raises AggregationInUse if it has jobs."""
    exists, count = _on_aggregation(id, pool, "delete")
    if exists and count:
        raise AggregationInUse(id=id, count=count)
    return exists


def _on_aggregation(id: str, pool: str, verb: str, value: str = "") -> tuple[bool, int]:
    """Whether it exists, and the number of its jobs."""
    word, count = get_role(JobCalls).aggregation(pool, lane_of_aggregation(id), verb, value)
    return word != "NONE", count


def resume_aggregation(id: str, pool: str = "default") -> dict[str, str]:
    """Resume an aggregation. Returns the settings before."""
    return resume_lane(pool, lane_of_aggregation(id))


def redeliver_callbacks(
    ids: Sequence[str],
    pool: str = "",
    *,
    rate: float | None = None,
    delay: float = 0.0,
    who: str = "",
    token: str = "",
) -> list[Row]:
    """Send callbacks that are dead, discarded or delivered again, with the same body; those in back-off start now.

    With a `rate` so many start a second, in the order of `ids`, the first of them after `delay` seconds. Raises
    BadOption.
    """
    return send_again(ids, pool, pace=Pace.of(rate, delay), who=who, token=token)


def close_circuit(place: str, pool: str = "default") -> bool:
    """Send callbacks to a host, or to one address (a URL), again now, though it has failed. Returns whether it did."""
    is_address = "://" in place
    address = address_of(Target(HTTP, place)) if is_address else ""
    lane = "" if is_address else lane_of_destination(place)
    return get_role(JobCalls).close_circuits(pool, address, lane) > 0


def redirect_callbacks(
    ids: Sequence[str],
    url: str,
    pool: str = "",
    *,
    rate: float | None = None,
    delay: float = 0.0,
    who: str = "",
    token: str = "",
) -> list[Row]:
    """Send callbacks to another address, with the same body and id. Ended ones, and those in back-off, start now.

    `rate` and `delay` are as of `redeliver_callbacks`. The network guard checks the address now, and again when it is
    sent. Raises BadOption and AddressRefused.
    """
    pace = Pace.of(rate, delay)
    return send_again(ids, pool, pace=pace, to=_checked_target(url), who=who, token=token)


def send_test_callback(url: str, pool: str = "default") -> TaskHandle[Any]:
    """Send a test to an address, as a callback of no job. It is tried once, and listed like every callback.

    Raises BadOption and AddressRefused.
    """
    lane = _checked_target(url).lane(pool)
    content = {"to": url, "success": True, "job": "test", "url": "", "extra": "a test by an operator"}
    options = Options(retries=0, timeout=attempt_seconds(), pool=pool)
    push = Push(
        id=new_id(),
        kind=CALLBACK,
        name=CALLBACK,
        args=encode_arguments(CALLBACK, (None,), content),
        **options.push_fields(conf.current()) | {"lane": lane.lane},
    )
    push.conflict, push.token = Conflict.NEW, ""
    push.own = (*push.own, ("ld", lane.settings))
    (made,) = get_role(JobCalls).submit_jobs(pool, [NewJob(push, (lane,))])
    return TaskHandle(made.id, pool, made.word, made.uid)


def _checked_target(url: str) -> Target:
    """The target of callbacks to an address. Raises BadOption and AddressRefused."""
    target = read_targets({"callback_url": url}).success
    if target is None:
        raise BadOption(name="url", value=url, expected="a URL such as https://example.com/done")
    checked = check_url(url, "callback", of_jobs())
    with contextlib.suppress(OSError):  # its name may be known to the workers alone
        public_addresses(checked.host, checked.port, "callback", of_jobs())
    return target


def discard_callbacks(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Give callbacks up: a dead one moves to the trash for 24 hours, one that waits is cancelled and kept."""
    found, _ = located(checked(ids), pool)
    states = {id: state for place, there in found.items() for id, (_, state) in _read(place, there).items()}
    ended = [id for id in ids if states.get(id) in TERMINAL]
    rows = _of_callbacks("delete", ended, pool, who=who, token=token)
    rows += _of_callbacks("cancel", [id for id in ids if id not in ended], pool, who=who, token=token, value=DISCARDED)
    by_id = {row.id: row for row in rows}
    return [by_id[id] for id in dict.fromkeys(ids)]


def start_maintenance(reason: str = "", *, who: str = "") -> bool:
    """Tell clients that no jobs are to be sent: the health check of the API answers 503. Jobs go on.

    Returns whether it was off before; else the time, the reason and the name of the first start stay.
    """
    return get_role(JobCalls).start_maintenance(who[:LONGEST_REASON], reason[:LONGEST_REASON])


def stop_maintenance() -> bool:
    """End the maintenance. Returns whether it was on."""
    return get_role(JobCalls).stop_maintenance()


def _of_callbacks(verb: str, ids: Sequence[str], pool: str, **how: Any) -> list[Row]:
    """The action on each of them that is a callback."""
    wanted = checked(ids)
    found, _ = located(wanted, pool)
    others = {
        id: Row(id=id, word="REFUSED", state=state, detail=NO_CALLBACK)
        for place, there in found.items()
        for id, (kind, state) in _read(place, there).items()
        if kind and kind != CALLBACK
    }
    rows = {row.id: row for row in act(verb, [id for id in wanted if id not in others], pool, **how)}
    return [others.get(id) or rows[id] for id in wanted]


def _read(pool: str, ids: Sequence[str]) -> dict[str, tuple[str, State | str]]:
    """The kind and the state of records; empty texts for one in the trash."""
    return get_role(JobCalls).kinds_and_states(pool, ids)
