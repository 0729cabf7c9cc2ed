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
    value, target = f"{circuit.failures} failures in a row", f"{detail.pool}/{detail.lane}"
    named = f"The circuit of this address of the host {_shown(detail)}"
    if circuit.state == "open":
        text = f"{named} is open until {clock(circuit.shut_ms)}: it has failed, so nothing is sent to it."
        yield bad(text, value=value, target=target, place="lanes")
    elif circuit.shut_ms > detail.now:
        text = f"{named} is half open: one callback is sent as a probe, and the others wait for it."
        yield bad(text, value=value, target=target, place="lanes")
    else:
        yield good(f"{named} is half open: the next callback is sent as a probe.", value=value)


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
    answer = f", answer {status[1]}" if status else ""
    attempt = f"attempt {whole(record.get('at'))} of {whole(record.get('r')) + 1}{answer}"
    left = f"until {clock(due)}, in {span(due - detail.now)}" if due > detail.now else "until now"
    return bad(f"The {kind} backs off {left}: {attempt}.", value=message, verb="run_now", target=detail.id)


def _slot(detail: Detail, kind: str) -> Iterator[Finding]:
    limit = maybe_whole(detail.conf.get("limit"))
    if limit is None or detail.active < limit:
        return
    place = f"aggregation {_shown(detail)}" if kind == JOB else f"host {_shown(detail)}"
    target = f"{detail.pool}/{detail.lane}"
    value = f"{detail.active} of {limit}"
    yield bad(f"The {kind} waits for a slot of {place}: {value} are in use.", value, "set_lane", target, place="lanes")


def _shown(detail: Detail) -> str:
    """The aggregation or the host, as it was given."""
    return detail.conf.get("title") or detail.lane.partition(":")[2]
