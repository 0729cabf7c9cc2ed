"""Chunks of a map-reduce task in a terminal: lists, actions, and edits of their data."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.inspect import ChunkRow
from queueops.inspect.errors import title
from queueops.inspect.redaction import KEPT, masked_data
from queueops.kinds.mapreduce.contracts import ChunkAnswer
from queueops.kinds.mapreduce.inspect import overview
from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.management.arguments import any_json, delay, json_object
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.formatting import counted, moment, printable, shown_broken, table, to_json
from queueops.management.queue.kind_commands import KindCommand, page_options
from queueops.management.queue.lookup import missing, place_of, task_of
from queueops.model.redact import cut

VERBS: dict[str, Callable[..., ChunkAnswer]] = {
    "retry": control.retry_chunks,
    "postpone": control.postpone_chunks,
    "drop": control.drop_chunks,
    "skip": control.skip_chunks,
    "release": control.release_chunks,
    "speculate": control.speculate,
}
EDITS = ("edit", "redo", "set")
SHOWN = 5
"""The most refusal reasons that are recorded."""
HEAD = ("CHUNK", "STATE", "TRIES", "BEGUN", "WORKER", "DATA", "ERROR")


def list_chunks(*, id: str, pool: str, as_json: bool, limit: int, after: str, **given: Any) -> Iterator[str]:
    """A page of chunks of a task, and their number in the state; without a task, of all aggregating tasks."""
    if not id:
        yield from _all(pool, given["state"] or "errored", given["error"], after, limit, as_json=as_json)
        return
    _check(id, pool)
    found = inspect.chunks(id, pool, state=given["state"], error=given["error"], after=after, limit=limit)
    if found is None:
        raise missing("task", id, pool)
    if as_json:
        yield to_json(found)
        return
    yield from shown_broken(found.broken)
    yield table(HEAD, map(_line, found.rows))
    yield f"{len(found.rows)} of {found.total:,}"
    if found.next:
        yield f"continue with --after {found.next}"


def _all(pool: str, state: str, error: str, after: str, limit: int, *, as_json: bool) -> Iterator[str]:
    """Chunks of all tasks in the state aggregating."""
    if error:
        raise CommandError("Say which task: --error is for the chunks of one task.", returncode=2)
    found = inspect.all_chunks(state, pool, after=after, limit=limit)
    if as_json:
        yield to_json(found)
        return
    yield table(("POOL", "TASK", "NAME", *HEAD), ((row.pool, row.id, row.name, *_line(row)) for row in found.rows))
    for broken in found.broken:
        yield f"the pool {broken.pool} could not be read: {broken.reason}"
    if found.next:
        yield f"continue with --after {found.next}"


def mend(*, id: str, verb: str, numbers: list[int], as_json: bool, **given: Any) -> Iterator[str]:
    """Act on chunks, by number or all of a state. Fails at its end if any was refused or left."""
    state, pool = given["state"], given["pool"]
    _check(id, pool)
    if state and not given["yes"]:
        found = overview.counts_of(id, pool)
        confirm(f"{verb.capitalize()} {counted(found[1].get(state, 0) if found else 0, 'chunk', 'chunks')}?")
    if state and verb == "speculate":
        raise CommandError("Say which chunks are to run a second time, by number.", returncode=2)
    if (verb == "postpone") == (given["delay"] is None):
        need = "Say for how long: --delay SECONDS." if verb == "postpone" else "Only postpone takes --delay."
        raise CommandError(need, returncode=2)
    own = {"seconds": given["delay"]} if verb == "postpone" else {}
    call = partial(VERBS[verb], id, numbers, pool=pool, **({"state": state} if state else {}), **own)
    answer, whys = _recorded(verb, id, pool, numbers, state, call)
    if as_json:
        yield to_json(answer)
    else:
        yield from whys
        goes_on = " and done without another command" if verb not in ("release", "postpone") else ""
        left = f", {counted(answer.left, 'is', 'are')} left{goes_on}" if answer.left else ""
        yield f"{counted(answer.changed, 'chunk', 'chunks')} done{left}; the task is {answer.state or 'gone'}"
    if answer.refused or answer.left or not answer.changed:
        raise SystemExit(1)


def edit_chunk(*, id: str, number: int, data: Any, retry: bool, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Replace the data of a chunk, and retry it if asked. Fails if that was refused."""
    found = inspect.chunk(id, number, pool)
    if found is None:
        raise missing(f"chunk {number} of a task", id, pool)
    call = partial(control.edit_chunk, id, number, data, retry=retry, pool=pool)
    before = {"chunks": [number], "data": cut(found.data_json, KEPT)}
    after = {"data": masked_data(data)}
    answer, whys = _recorded("redo" if retry else "edit", id, pool, [number], "", call, before=before, after=after)
    yield to_json(answer) if as_json else "\n".join(whys) or f"The chunk {number} of {id} has other data."
    if not answer.changed:
        raise SystemExit(1)


def edit_chunks(
    *, id: str, numbers: list[int], data: Any, fields: dict[str, Any] | None, as_json: bool, **given: Any
) -> Iterator[str]:
    """Replace the data of chunks, or set fields in it, and retry them. Fails if any chunk kept its data."""
    state, pool = given["state"], given["pool"]
    change = {"fields": fields} if fields is not None else {"data": data}
    if state and not given["yes"]:
        _confirm_edit(id, pool, state, change)
    after = {name: masked_data(value) for name, value in change.items()}
    edit = partial(control.edit_chunks, id, data) if fields is None else partial(control.set_fields, id, fields)
    call = partial(edit, numbers, state=state, pool=pool)
    answer, whys = _recorded("redo" if fields is None else "set", id, pool, numbers, state, call, after=after)
    if as_json:
        yield to_json(answer)
    else:
        yield from whys
        yield f"{counted(answer.changed, 'chunk', 'chunks')} changed; the task is {answer.state or 'gone'}"
    if whys or not answer.changed:
        raise SystemExit(1)


def restart(*, id: str, stage: str, every: bool, pool: str, as_json: bool, **given: Any) -> Iterator[str]:
    """Restart a task from a stage. Fails if that was refused."""
    _check(id, pool)
    if not given["yes"] and (stage == "map" or every):
        confirm(f"Throw the results of the chunks of {id} away?")
    name = stage if stage != "process" else "all" if every else "failed"
    with audit.recorded(verb=f"restart_{name}", pool=place_of(id, pool), ids=[id]) as act:
        row = control.restart_from(id, stage, every=every, pool=pool, who=act.who)
        act.rows = [row]
    yield to_json(row) if as_json else f"{row.id}: {row.word}, {row.state}{f': {row.detail}' if row.detail else ''}"
    if row.word not in ("OK", "REPEAT"):
        raise SystemExit(1)


def _recorded(
    verb: str,
    id: str,
    pool: str,
    numbers: list[int],
    state: str,
    call: Callable[..., ChunkAnswer],
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> tuple[ChunkAnswer, list[str]]:
    """Act on chunks, with an audit entry; the answer, and why chunks were refused."""
    facts = {
        "target": f"{id}: {state or ', '.join(map(str, numbers[:20]))}",
        "before": before or {"chunks": numbers, "whole": [state] if state else []},
        "after": after or {},
    }
    with audit.recorded(verb=f"{verb}_chunks", pool=place_of(id, pool), ids=[id], **facts) as act:
        answer = call(who=act.who)
        whys = [why for _number, why in control.reasons(verb, answer)]
        if verb in EDITS:
            whys += _kept(answer)
        act.changed, act.refused = answer.changed, "; ".join(whys[:SHOWN])
    return answer, whys


def _kept(answer: ChunkAnswer) -> Iterator[str]:
    """The chunks of a whole state that keep their data, or are not changed yet."""
    if answer.unfit:
        yield f"{counted(answer.unfit, 'keeps its', 'keep their')} data, which has no fields, or would be too long"
    if answer.left:
        yield f"{answer.left:,} will be changed by workers"


def _confirm_edit(id: str, pool: str, state: str, change: dict[str, Any]) -> None:
    """Show the changes of some chunks, and ask."""
    found = overview.counts_of(id, pool)
    if found is None:
        raise missing("task", id, pool)
    shown = inspect.preview_edit(id, [state], pool, **change)
    texts = (f"chunk {row.number}: {row.before} -> {row.after or 'stays: it has no fields'}" for row in shown)
    lines = map(printable, texts)
    chunks = counted(found[1].get(state, 0), "chunk, and run it again?", "chunks, and run them again?")
    confirm("\n".join([*lines, f"Change the data of {chunks}"]))


def _check(id: str, pool: str) -> None:
    """Only map-reduce tasks have chunks."""
    found = task_of(id, pool)
    if found.kind != "mapreduce":
        raise CommandError(f"The task {id} is a {found.kind}, and has no chunks.")


def _line(row: ChunkRow) -> tuple[object, ...]:
    why = title(row.error) or row.reason
    return row.number, row.state, row.attempt, moment(row.begun_ms), row.worker, row.data, why


def _place(parser: ArgumentParser, id_help: str, *, optional: bool = False) -> None:
    if optional:
        parser.add_argument("id", nargs="?", default="", help=id_help)
    else:
        parser.add_argument("id", help=id_help)
    parser.add_argument("--pool", default="", help="the pool that holds it (default: search all pools)")


def _numbers(parser: ArgumentParser) -> None:
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="the chunks; or name them by --state")


def _yes(parser: ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _list_options(parser: ArgumentParser) -> None:
    _place(parser, "the map-reduce task (default: all in aggregating)", optional=True)
    states = f"only chunks in this state: {', '.join(CHUNK_STATES)}; without a task, errored is the default"
    parser.add_argument("--state", default="", help=states)
    parser.add_argument("--error", default="", help="only chunks with this fingerprint of an error")
    page_options(parser)


def _mend_options(parser: ArgumentParser) -> None:
    _place(parser, "the map-reduce task")
    parser.add_argument("verb", choices=list(VERBS))
    _numbers(parser)
    parser.add_argument("--state", default="", help="all chunks of this state")
    parser.add_argument("--delay", type=delay, metavar="SECONDS", help="postpone: from now")
    _yes(parser)


def _restart_options(parser: ArgumentParser) -> None:
    _place(parser, "the map-reduce task")
    parser.add_argument("stage", choices=["map", "process", "reduce"])
    parser.add_argument("--every", action="store_true", help="process: every chunk, not only failed ones")
    _yes(parser)


def _edit_options(parser: ArgumentParser) -> None:
    _place(parser, "the task's id")
    parser.add_argument("number", type=int)
    parser.add_argument("--data", type=any_json, required=True, metavar="JSON")
    parser.add_argument("--retry", action="store_true", help="run it again")


def _mass_edit_options(parser: ArgumentParser) -> None:
    _place(parser, "the task's id")
    _numbers(parser)
    parser.add_argument("--state", default="", help="all chunks of this state: errored, failed or done")
    change = parser.add_mutually_exclusive_group(required=True)
    change.add_argument("--data", type=any_json, metavar="JSON", help="replaces the data of each chunk")
    change.add_argument("--fields", type=json_object, metavar="JSON", help="fields to set in the data of each chunk")
    _yes(parser)


COMMANDS = (
    KindCommand(name="chunks", run=list_chunks, text="the chunks of a map-reduce task", add_options=_list_options),
    KindCommand(
        name="mend",
        run=mend,
        text="retry, drop, skip or release chunks, or start second runs of them",
        add_options=_mend_options,
    ),
    KindCommand(
        name="restart",
        run=restart,
        text="begin a map-reduce task again at one of its stages",
        add_options=_restart_options,
    ),
    KindCommand(name="edit-chunk", run=edit_chunk, text="give a chunk other data", add_options=_edit_options),
    KindCommand(
        name="edit-chunks",
        run=edit_chunks,
        text="give many chunks other data, or set fields in it, and run them again",
        add_options=_mass_edit_options,
    ),
)
