"""Runs in a terminal: lists, the story of a run, and the actions on it. Each action is recorded in the audit log."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.control import Row
from queueops.inspect import RunCall, RunFacts, RunLine, RunView
from queueops.inspect.errors import title
from queueops.kinds.workflows.code_check.saved_run import exported
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.management.arguments import any_json, json_list, json_object, positive
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.formatting import moment, pairs, printable, shown_broken, table, to_json
from queueops.management.queue.kind_commands import KindCommand
from queueops.management.queue.lookup import check_pool, missing
from queueops.management.queue.queries import tell_unseen
from queueops.management.queue.report import report
from queueops.redis.broker import get_broker, get_role

HEAD = ("RUN", "INSTANCE", "NAME", "STATE", "SINCE", "ENTRIES", "STATUS", "WAITS FOR, OR WHY NOT", "POOL")
STORY_HEAD = ("ENTRY", "WHEN", "KIND", "NUMBER", "NAME", "TEXT")
CALLS_HEAD = ("NUMBER", "KIND", "TASK", "NAME", "STATE", "FAILED", "PROGRESS", "DETAIL", "ERROR", "DUE")
VERBS = ("show", "children", "signal", "cancel", "terminate", "reset", "retry-step", "suspend", "resume")
WIDEST = 200
"""Characters of a column, which may have the reason of a blocked run."""
ENDING = ("cancel", "terminate", "reset")
"""Verbs that need a confirmation."""
REASONLESS = ("show", "children", "signal")
"""Verbs that take no reason: the first two change nothing, and the log line of a signal has its name."""


def list_runs(*, pool: str, as_json: bool, **given: Any) -> Iterator[str]:
    """A page of runs."""
    check_pool(pool)
    filters = {name: given[name] for name in ("instance", "tag", "status", "older", "younger")}
    tell_unseen(inspect.TaskQuery(), given["status"])
    page = inspect.workflow_runs(
        given["state"], given["name"], pool, given["search"], given["after"], given["limit"], **filters
    )
    if as_json:
        yield to_json(page)
        return
    yield from shown_broken(page.broken)
    yield table(HEAD, map(_line, page.rows), widest=WIDEST)
    yield f"{len(page.rows)} of {'' if page.exact else 'at most '}{page.total:,}"
    if page.next:
        stopped = f"{page.seen:,} runs were looked at; " if page.partial and page.seen else ""
        yield f"{stopped}continue with --after {page.next}"


def act(*, id: str, verb: str, pool: str, as_json: bool, **given: Any) -> Iterator[str]:
    """Show a run with a page of its history, or act on it. Fails if it was refused."""
    _check_reason(verb, given["reason"])
    run, place = _found(id, pool)
    if given["export"] and verb != "show":
        raise CommandError("Only show takes --export.", returncode=2)
    if given["export"]:
        yield exported(get_role(WorkflowCalls), place, run) or ""
        return
    if verb == "show":
        yield from _shown(run, place, given["first"], given["calls"], as_json=as_json)
        return
    if verb == "children":
        yield from _children(run, place, given["first"], as_json=as_json)
        return
    _check(verb, given)
    if verb in ENDING and not given["yes"]:
        confirm(f"{verb.capitalize()} the run {printable(run)}?")
    facts: dict[str, Any] = {"filter": {}, "reason": given["reason"]}
    with audit.recorded(verb=_AUDITED[verb], pool=place, ids=[run], **facts) as recorded:
        recorded.rows = _acted(verb, run, place, given, {"who": recorded.who, "token": recorded.token})
        rows = list(recorded.rows)
    yield from report(rows, as_json=as_json)


def start(*, name: str, instance: str, as_json: bool, **given: Any) -> Iterator[str]:
    """Start a run."""
    with audit.recorded(verb="start_run", target=instance or name, after={"name": name}) as recorded:
        row = control.start_run(name, given["positional"] or (), given["named"], instance=instance)
        recorded.after = {"name": name, "run": row.id, "instance": row.detail}
    yield to_json(row) if as_json else f"The run {row.id} of the instance {printable(row.detail)} has started."


_AUDITED = {
    "signal": "signal_runs",
    "cancel": "cancel_runs",
    "terminate": "cancel",
    "reset": "reset_runs",
    "retry-step": "retry",
    "suspend": "suspend_runs",
    "resume": "resume_runs",
}
"""The verbs of the audit log: those of the console."""


def _acted(verb: str, run: str, pool: str, given: dict[str, Any], how: dict[str, Any]) -> list[Row]:
    match verb:
        case "signal":
            return control.signal_runs([run], given["signal"], given["value"], pool, **how)
        case "cancel":
            return control.cancel_runs([run], given["reason"], pool, **how)
        case "terminate":
            return control.cancel([run], reason=given["reason"], pool=pool, **how)
        case "reset":
            return [control.reset_run(run, given["entry"], given["reason"], pool, **how)]
        case "retry-step":
            return control.retry_runs([run], pool, reason=given["reason"], **how)
        case "suspend":
            return control.suspend_runs([run], pool, reason=given["reason"], **how)
        case _:
            return control.resume_runs([run], pool, reason=given["reason"], **how)


def _check(verb: str, given: dict[str, Any]) -> None:
    if (verb == "signal") != bool(given["signal"]):
        told = "Which signal? Give --signal NAME." if verb == "signal" else "Only signal takes --signal."
        raise CommandError(told, returncode=2)
    if (verb == "reset") != (given["entry"] is not None):
        which = "To which entry? Give --entry NUMBER, as `run ID` shows it."
        raise CommandError(which if verb == "reset" else "Only reset takes --entry.", returncode=2)


def _check_reason(verb: str, reason: str) -> None:
    if reason and verb in REASONLESS:
        told = "Only cancel, terminate, reset, retry-step, suspend and resume take --reason."
        raise CommandError(told, returncode=2)


def _found(id: str, pool: str) -> tuple[str, str]:
    """The run of this id, or the newest run of the instance of this id, and its pool."""
    check_pool(pool)
    places = [pool] if pool else get_broker().pools()
    for place in places:
        if inspect.workflow_run(id, place) is not None:
            return id, place
    for place in places:
        if runs := inspect.runs_of_instance(id, place):
            return runs[0].id, place
    raise missing("run or instance", id, pool)


def _shown(run: str, pool: str, first: int, calls: str, *, as_json: bool) -> Iterator[str]:
    view, task = inspect.workflow_run(run, pool, first=first - 1, calls=calls), inspect.task(run, pool)
    if view is None or task is None:
        raise missing("run", run, pool)
    if as_json:
        yield to_json({"run": view, "task": task})
        return
    yield pairs(
        (
            ("run", run),
            ("instance", view.instance),
            ("name", task.name),
            ("state", "continued" if view.continued_ms else task.state),
            ("arguments", _one_line(task.args_json)),
            ("result", _one_line(task.result_json)),
            ("status", _one_line(view.status_text)),
            ("blocked since", moment(view.blocked_ms)),
            ("suspended since", moment(view.suspended_ms)),
            ("reason", view.reason),
            ("error", title(task.error)),
            ("run before", view.before),
            ("next run", view.after),
            ("parent", view.parent),
            ("late events", f"{view.late:,}" if view.late else ""),
            ("inbox", f"{view.waiting_events:,} events" if view.waiting_events else ""),
            *(("failed, not awaited", text) for text in view.died),
            *(("waits for the signal", name) for name in view.signals),
            *(("waits at", " > ".join(stack)) for stack in view.stacks),
        )
    )
    if task.error and task.error.traceback:
        yield printable(task.error.traceback, lines=True)
    yield from _calls(view)
    yield table(STORY_HEAD, map(_story_line, view.lines), widest=WIDEST)
    if view.lines or not view.length:
        yield f"entries {view.first + 1:,} to {view.first + len(view.lines):,} of {view.length:,}"
    else:
        yield f"no entry from {view.first + 1:,} on; the history has {view.length:,}"
    if view.next:
        yield f"continue with --first {view.next + 1}"


def _children(run: str, pool: str, first: int, *, as_json: bool) -> Iterator[str]:
    page = inspect.run_children(run, pool, first=first - 1)
    if as_json:
        yield to_json(page)
        return
    yield table(HEAD, map(_line, page.rows))
    yield f"entries up to {page.looked_at:,} of {page.length:,} were read"
    if page.next:
        yield f"continue with --first {page.next + 1}"


def _calls(view: RunView) -> Iterator[str]:
    if view.calls:
        rows = ((call.number, call.kind, call.task, call.name, call.state, call.attempt or "", _progress(call),
                 call.detail, call.error, moment(call.due_ms)) for call in view.calls)  # fmt: skip
        yield table(CALLS_HEAD, rows)
    if view.more_calls:
        yield f"{view.more_calls:,} more" + (f"; continue with --calls {view.next_calls}" if view.next_calls else "")


def _progress(call: RunCall) -> str:
    if call.progress is None:
        return ""
    return f"{call.progress:g}" + (f" of {call.total:g}" if call.total else "")


def _story_line(line: RunLine) -> tuple[object, ...]:
    text = " ".join(filter(None, (line.task, f"due {moment(line.due_ms)}" if line.due_ms else "", line.text)))
    return line.number, moment(line.at_ms), line.kind, line.command or "", line.name, _one_line(text)


def _one_line(document: str) -> str:
    """A JSON document that has lines, or another text, on one line."""
    return re.sub(r"\s*\n\s*", " ", document)


def _line(row: RunFacts) -> tuple[object, ...]:
    state = "suspended" if row.suspended_ms else "blocked" if row.blocked_ms else row.shown_state
    waits = row.reason if row.blocked_ms else row.error or ", ".join(row.waits_for[:2])
    facts = (row.id, row.instance, row.name, state, moment(row.entered_ms), row.length, _one_line(row.status_text))
    return *facts, waits, row.pool


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--state", default="", help="a state, or blocked, suspended, continued (as new)")
    parser.add_argument("--name", default="", help="only runs of this workflow")
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    parser.add_argument("--search", default="", metavar="ID", help="an instance, or the beginning of a run's id")
    parser.add_argument("--instance", default="", metavar="ID", help="only runs of this instance; 'order-*': beginning")
    parser.add_argument("--tag", default="", help="only runs with this tag")
    parser.add_argument("--status", default="", metavar="TEXT", help="only runs whose custom status has this text")
    parser.add_argument("--older", default="", metavar="AGE", help="only runs that began this long ago: 90s, 12h, 7d")
    parser.add_argument("--younger", default="", metavar="AGE", help="only runs that began within this time")
    parser.add_argument("--limit", type=positive, default=50, help="rows, at most 200")
    parser.add_argument("--after", default="", metavar="POSITION", help="continue where a list ended (its `next`)")


def _act_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", help="the run, or its instance, of which the newest run is meant")
    parser.add_argument("verb", nargs="?", choices=VERBS, default="show", help="what to do (show)")
    parser.add_argument("--pool", default="", help="the pool that holds it (default: search all pools)")
    parser.add_argument("--first", type=positive, default=1, metavar="NUMBER", help="show, children: the first entry")
    parser.add_argument(
        "--export", action="store_true", help="show: all that a replay needs, with arguments and payloads, as JSON"
    )
    parser.add_argument("--calls", default="", metavar="PLACE", help="show: continue the list of open commands")
    parser.add_argument("--signal", default="", metavar="NAME", help="signal: its name")
    parser.add_argument("--value", type=any_json, default=None, metavar="JSON", help="signal: its value (null)")
    parser.add_argument("--entry", type=positive, metavar="NUMBER", help="reset: an entry of the step to make again")
    parser.add_argument("--reason", default="", help="why; the log of the run and the audit log keep it")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _start_options(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="the workflow")
    parser.add_argument("--instance", default="", metavar="ID", help="its instance (default: the run)")
    parser.add_argument("--args", dest="positional", type=json_list, metavar="JSON", help="positional arguments")
    parser.add_argument("--kwargs", dest="named", type=json_object, metavar="JSON", help="named arguments")


COMMANDS = (
    KindCommand(name="runs", run=list_runs, text="runs of workflows, newest first", add_options=_list_options),
    KindCommand(
        name="run", run=act, text="show, signal, end, reset or suspend a run of a workflow", add_options=_act_options
    ),
    KindCommand(name="start-run", run=start, text="start a run of a workflow", add_options=_start_options),
)
