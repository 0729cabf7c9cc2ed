"""Decision steps in a worker: reads history and inbox, runs the code, and gives the store what it decided.

A worker keeps the runs of its last steps in memory. The next step of such a run needs no replay if no other worker made
a step meanwhile: the fence of the last step tells.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
from django.core.exceptions import SynchronousOnlyOperation

from queueops import conf
from queueops.errors import BrokerUnavailable, QueueOpsError, SoftTimeout
from queueops.errors.workflows import NotDeterministic
from queueops.kinds.workflows import events
from queueops.kinds.workflows.code_version import code_version
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.kept_runs import KEPT_RUNS as KEPT_RUNS
from queueops.kinds.workflows.kept_runs import kept_runs
from queueops.kinds.workflows.replay import tracing
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.replay.history_limit import check_size
from queueops.kinds.workflows.replay.run_trace import run_span
from queueops.kinds.workflows.replay.step import RunInfo, Step
from queueops.kinds.workflows.store import payloads
from queueops.kinds.workflows.store.run_store import StepInput, get_run_store, given_input
from queueops.model import observers
from queueops.model.contracts import Lease, Push
from queueops.model.trace_context import traceparent
from queueops.redis.pushwire import due_argument, record_fields
from queueops.tasks.context import Context
from queueops.worker.execution import failure

logger = logging.getLogger("queueops.worker")
CANCELLED = "its code ended by a cancel"
AT_ONCE = 250
"""Calls that begin with their step. The store begins the others in slices."""

Value = dict[str, Any]


def make_step(context: Context, code: Any) -> Value:
    """Make one step, for `encoded`. ``code`` makes the execution of a run: `WorkflowHandler.execution`.

    A step that cannot be made blocks the run, whatever the reason. If the code does not fit the history, the store
    leaves the run to a worker with the code of its last step, while one is alive. Raises interrupts of the worker.
    """
    value = _made_step(context, code)
    _warn(context.lease, value)
    return value


def _made_step(context: Context, code: Any) -> Value:
    lease, store = context.lease, get_run_store()
    known = kept_runs.take(lease)
    execution = known[1] if known else None
    keeps = False
    try:
        fence, length = (known[0], known[1].length) if known else (0, 0)
        found = given_input(lease, fence, length) or store.step_input(lease, fence, length)
        if found is None:
            return {"blocked": "its lease is not current"}  # the settlement is stale, too: nothing is written
        if execution is not None and not found.goes_on:
            execution.dispose()
            execution = None
        kept_runs.count_step(is_hit=execution is not None, is_replay=execution is None and found.length > 0)
        execution = _execution(lease, found, execution, code)
        inbox = _filled(lease, payloads.first_of(found.inbox))
        step = execution.advance(lease.begun_ms, [_event(text) for text in inbox])
        value = _value(execution, step, lease)
        if step.error is not None:
            observers.tell_failed(step.error)
        if execution.info.trace:
            _export(execution, step)
        step.error = None  # its traceback may keep this frame
        keeps = not step.over
    except BrokerUnavailable:
        raise
    except NotDeterministic as error:
        return {"blocked": str(error), "unfit": True, "code": code_version()}
    except QueueOpsError as error:
        return {"blocked": str(error)}
    except SynchronousOnlyOperation as error:
        return {"blocked": f"{error} In a workflow, use the database in an activity."}
    except SoftTimeout:  # raised from outside, it does not know the limit
        return {
            "blocked": f"A decision step did not end within {context.limit_s or 0:g} s. Code that waits must await."
        }
    except Exception as error:  # an error of the engine, or of the project's own types, must not fail the run
        return {"blocked": f"{type(error).__name__}: {error}"}
    finally:
        if execution is not None and keeps:
            kept_runs.put(lease, execution)
        elif execution is not None:
            execution.dispose()
    return value


def words_of(value: Value) -> str:
    """What a step did, for the log of a worker."""
    if "blocked" in value:
        return "does not fit this code" if "unfit" in value else "is blocked"
    return f"made its last step, and has {_OVER[value['over']]}," if "over" in value else "made a step"


_OVER = {"succeeded": "succeeded", "failed": "failed", "cancelled": "been cancelled", "continued": "continued as new"}


def _warn(lease: Lease, value: Value) -> None:
    """Tell in the log that a run is blocked or has failed, and what its own log notes of the step."""
    told = {"task": lease.id, "name": lease.name, "pool": lease.pool}
    for note in value.get("notes", ()):
        logger.warning("%s %s: %s", lease.name, lease.id, note, extra={"told": told})
    if reason := value.get("blocked"):
        how = "is blocked, or left to a worker with its code" if "unfit" in value else "is blocked"
        logger.warning("%s %s %s: %s", lease.name, lease.id, how, reason, extra={"told": told})
    elif value.get("over") == "failed":
        logger.warning("%s %s failed: %s", lease.name, lease.id, value["title"], extra={"told": told})


def encoded(value: Value) -> bytes:
    """A step as the store reads it."""
    if "title" in value and (ring := conf.keyring()) is not None:
        error = ring.seal_error(value["value"].encode()).decode()
        value = value | {"value": error, "title": ring.seal_title(value["title"])}
    return msgspec.json.encode(value)


def _export(execution: Execution, step: Step) -> None:
    """Export the spans that a step has ended. A step that is made again exports them again, with the same ids."""
    if step.over:
        step.spans.append(run_span(execution.info, step, execution.begun_ms))
    tracing.export(execution.info, step.spans)


def _filled(lease: Lease, texts: Iterable[bytes]) -> Iterator[bytes]:
    """Entries with their payloads."""
    return payloads.filled(texts, partial(get_run_store().payloads, lease.pool, lease.id))


def _history(lease: Lease, found: StepInput, first: int) -> Iterator[bytes]:
    """The history behind the entries that the worker has; the first page of it was read with the inbox."""
    page = found.history
    while page:
        yield from _filled(lease, page)
        first += len(page)
        page = get_run_store().history(lease.pool, lease.id, first) if first < found.length else []


def _event(text: bytes) -> Entry:
    """An event of the inbox. Raises msgspec.MsgspecError, also for a kind that only a newer version knows."""
    entry = events.decode(text)
    if not entry.is_event:
        raise msgspec.ValidationError(f"there is no event of the kind {entry.kind!r}")
    return entry


def _execution(lease: Lease, found: StepInput, kept: Execution | None, code: Any) -> Execution:
    info = RunInfo(
        id=lease.id,
        name=lease.name,
        instance=found.instance or lease.id,
        pool=lease.pool,
        parent=found.parent,
        length=found.length,
        origin=found.origin or lease.id,
        trace=traceparent(lease.trace),
    )
    if kept is not None:
        kept.info = info
        kept.replay(_history(lease, found, kept.length))
        return kept
    execution: Execution = code(info, lease.args)
    try:
        execution.replay(_history(lease, found, 0))
    except BaseException:
        execution.dispose()
        raise
    return execution


def _value(execution: Execution, step: Step, lease: Lease) -> Value:
    check_size(execution, step)
    pushes = list(step.pushes.values())
    if pushes:
        get_run_store().prepare_calls(lease.pool, pushes)
    begun = [entry for entry in step.commands if entry.command in step.pushes and entry.kind in ("call", "child")]
    if step.over:  # others are ended by the same step
        begun.sort(key=lambda entry: step.left.get(entry.command) != "abandon")
    calls = [_call(entry, step.pushes[entry.command], step.left.get(entry.command, "")) for entry in begun]
    at_once = max(AT_ONCE, list(step.left.values()).count("abandon") if step.over else 0)
    keeps: dict[str, str] = {}
    fingerprint = "" if execution.info.length else execution.code.fingerprint
    value: Value = {
        "taken": step.taken,
        "mark": _text(Entry(events.STEP, at_ms=step.at, arguments_digest=fingerprint)),
        "commands": [_kept(entry, str(entry.command), keeps) for entry in step.commands],
        "calls": calls[:at_once],
        "later": [(plan["number"], msgspec.json.encode(plan).decode()) for plan in calls[at_once:]],
        "timers": [(str(entry.command), str(entry.at_ms)) for entry in step.commands if entry.kind == "timer"],
        "drops": [str(entry.command) for entry in step.commands if entry.kind == "drop"],
        "asks": [str(entry.command) for entry in step.commands if entry.kind == "ask"],
        "tells": [_tell(lease, entry) for entry in step.commands if entry.kind == "tell"],
        "where": "\n".join(step.where),
        "notes": step.notes,
        "code": code_version(),
    }
    if execution.has_unasked_patches:  # this code may be the earlier one
        value["unasked"] = True
    if step.died:
        value["died"] = "\n".join(step.died)
    if keeps:
        value["keeps"] = keeps
    if step.status is not None:
        value["status"] = _sealed(step.status).decode()
    if step.over:
        value |= _end(step) | {"unread": len(step.unread)}
    return value


def _call(entry: Entry, push: Push, on_end: str) -> Value:
    is_child = entry.kind == "child"
    if not is_child:
        push = msgspec.structs.replace(push, kind="activity")
    plan: Value = {
        "number": str(entry.command),
        "id": push.id,
        "due": str(due_argument(push)),
        "fields": [_plain(part) for part in record_fields(push, token=False)],
    }
    if entry.pool:
        plan["pool"] = entry.pool
    if on_end:
        plan["fields"] += ["vj", on_end]
    if is_child:
        plan |= {"child": True, "instance": entry.instance}
    return plan


def _tell(lease: Lease, entry: Entry) -> Value:
    keeps: dict[str, str] = {}
    kept = f"{lease.id}.{entry.command}.{lease.fence}"  # a retried run may send another one by the same number
    text = _kept(Entry("signal", name=entry.name, payload=entry.payload), kept, keeps)
    tell: Value = {"number": str(entry.command), "instance": entry.instance, "text": text}
    if entry.pool:
        tell["pool"] = entry.pool
    return tell | {"kept": kept, "payload": keeps[kept]} if keeps else tell


def _end(step: Step) -> Value:
    if step.error is not None:
        known = failure.describe(step.error)
        title = failure.title_of(known)
        return {"over": "failed", "value": known.encoded().decode(), "fingerprint": known.fingerprint, "title": title}
    if step.again is not None:
        keeps: dict[str, str] = {}
        carry = [_kept(entry, f"c:{number}", keeps) for number, entry in enumerate(step.unread)]
        again = {"id": step.next_id, "a": _sealed(step.again).decode(), "carry": carry, "keeps": keeps}
        return {"over": "continued", "again": again}
    return {"over": step.state, "result": _sealed(step.result).decode(), "reason": step.reason or CANCELLED}


def _kept(entry: Entry, field: str, keeps: dict[str, str]) -> str:
    """An entry as it is stored; a large payload is kept apart."""
    entry, payload = payloads.apart(entry, field)
    if payload:
        keeps[field] = _sealed(payload).decode()
    return _text(entry)


def _text(entry: Entry) -> str:
    return payloads.sealed(events.encode(entry)).decode()


def _sealed(data: bytes) -> bytes:
    ring = conf.keyring()
    return data if ring is None else ring.seal(data)


def _plain(part: object) -> str:
    return part.decode() if isinstance(part, bytes) else str(part)
