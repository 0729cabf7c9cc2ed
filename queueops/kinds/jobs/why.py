"""Diagnosis of jobs and callbacks: slots of the aggregation, the circuit of the address, the last answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from queueops.errors import BadOption, NotDecodable
from queueops.inspect.errors import read_failure
from queueops.inspect.spans import clock, span
from queueops.inspect.why.findings import Finding, bad, good
from queueops.kinds.jobs.aggregations.circuit_rows import Circuit
from queueops.kinds.jobs.aggregations.lane_list import job_lane
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK, target_of
from queueops.kinds.jobs.callbacks.circuits import address_of
from queueops.kinds.jobs.store import JOB
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.redis.query_replies import Detail, maybe_whole, whole
from queueops.tasks.encoding import decode_arguments

STATUS = re.compile(r"\bHTTP (\d{3})\b")
"""How a stored error names the status of the answer."""


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """Nothing: no job waits without a place in its lane."""
    return None


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Nothing more than of any task."""
    return iter(())


def waiting(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Why a job or a callback does not start now; nothing of other tasks."""
    kind = record.get("k")
    if kind not in (JOB, CALLBACK):
        return
    yield from _circuit(detail, kind)
    if state is State.RESTART and detail.record.get(b"er"):
        yield _backing_off(detail, record, kind)
    if state is State.PENDING:
        yield from _slot(detail, kind)


def _circuit(detail: Detail, kind: str) -> Iterator[Finding]:
    circuit = _circuit_of(detail) if kind == CALLBACK else None
    if circuit is None or circuit.shut_ms is None:
        return
    value = say("%(count)s failures in a row", count=str(circuit.failures))
    host, target = _shown(detail), f"{detail.pool}/{detail.lane}"
    if circuit.state == "open":
        text = say(
            "The circuit of this address of the host %(host)s is open until %(time)s: it has failed, so nothing is sent"
            " to it.",
            host=host,
            time=clock(circuit.shut_ms),
        )
        yield bad(text, value=value, target=target, place="lanes")
    elif circuit.shut_ms > detail.now:
        text = say(
            "The circuit of this address of the host %(host)s is half open: one callback is sent as a probe, and the"
            " others wait for it.",
            host=host,
        )
        yield bad(text, value=value, target=target, place="lanes")
    else:
        text = say(
            "The circuit of this address of the host %(host)s is half open: the next callback is sent as a probe.",
            host=host,
        )
        yield good(text, value=value)


def _circuit_of(detail: Detail) -> Circuit | None:
    """The circuit of the address to which a callback goes; None if the address has not failed."""
    lane = job_lane(detail.lane, detail.pool)
    try:
        address = address_of(target_of(decode_arguments(CALLBACK, detail.record.get(b"a", b""))[1]))
    except (NotDecodable, BadOption, KeyError):
        return None
    return next((each for each in lane.circuits if each.address == address), None) if lane is not None else None


def _backing_off(detail: Detail, record: Mapping[str, str], kind: str) -> Finding:
    due = detail.due if detail.due is not None else whole(record.get("d"))
    failure = read_failure(detail.record.get(b"er", b""))
    message = failure.message if failure is not None else ""
    status = STATUS.search(message)
    until = say("until now")
    if due > detail.now:
        until = say("until %(moment)s, in %(time)s", moment=clock(due), time=span(due - detail.now))
    values = {
        "until": until,
        "attempt": str(whole(record.get("at"))),
        "allowed": str(whole(record.get("r")) + 1),
        "answer": say(", answer %(status)s", status=status[1]) if status else "",
    }
    text = say("The job backs off %(until)s: attempt %(attempt)s of %(allowed)s%(answer)s.", **values)
    if kind == CALLBACK:
        text = say("The callback backs off %(until)s: attempt %(attempt)s of %(allowed)s%(answer)s.", **values)
    return bad(text, value=message, verb="run_now", target=detail.id)


def _slot(detail: Detail, kind: str) -> Iterator[Finding]:
    limit = maybe_whole(detail.conf.get("limit"))
    if limit is None or detail.active < limit:
        return
    target = f"{detail.pool}/{detail.lane}"
    value = say("%(count)s of %(whole)s", count=str(detail.active), whole=str(limit))
    values = {"name": _shown(detail), "used": value}
    text = say("The callback waits for a slot of host %(name)s: %(used)s are in use.", **values)
    if kind == JOB:
        text = say("The job waits for a slot of aggregation %(name)s: %(used)s are in use.", **values)
    yield bad(text, value, "set_lane", target, place="lanes")


def _shown(detail: Detail) -> str:
    """The aggregation or the host, as it was given."""
    return detail.conf.get("title") or detail.lane.partition(":")[2]
