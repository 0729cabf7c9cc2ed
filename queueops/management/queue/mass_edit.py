"""Bulk edit of chunk data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.control import ChunkAnswer
from queueops.inspect.redaction import masked_data
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm, place_of
from queueops.management.queue.chunks import SHOWN
from queueops.management.queue.formatting import printable, to_json


def edit_chunks(
    *, id: str, numbers: list[int], data: Any, fields: dict[str, Any] | None, as_json: bool, **given: Any
) -> Iterator[str]:
    """Replace the data of chunks, or set fields in it, and retry them. Fails if any chunk kept its data."""
    state, pool = given["state"], given["pool"]
    change = {"fields": fields} if fields is not None else {"data": data}
    if state and not given["yes"]:
        _ask(id, pool, state, change)
    place = place_of(id, pool)
    facts = {
        "target": f"{id}: {state or ', '.join(map(str, numbers[:20]))}",
        "before": {"chunks": numbers, "whole": [state] if state else []},
        "after": {name: masked_data(value) for name, value in change.items()},
    }
    verb = "redo" if fields is None else "set"
    with audit.recorded(verb=f"{verb}_chunks", pool=place, ids=[id], **facts) as act:
        answer = _changed(id, change, numbers, state=state, pool=pool, who=act.who)
        whys = _whys(verb, answer)
        act.changed, act.refused = answer.changed, "; ".join(whys[:SHOWN])
    if as_json:
        yield to_json(answer)
    else:
        yield from whys
        yield f"{answer.changed:,} chunks changed; the task is {answer.state or 'gone'}"
    if whys or not answer.changed:
        raise SystemExit(1)


def _changed(id: str, change: Mapping[str, Any], numbers: Sequence[int], **which: str) -> ChunkAnswer:
    if "fields" in change:
        return control.set_fields(id, change["fields"], numbers, **which)
    return control.edit_chunks(id, change["data"], numbers, **which)


def _whys(verb: str, answer: ChunkAnswer) -> list[str]:
    whys = [why for _number, why in control.reasons(verb, answer)]
    if answer.unfit:
        whys.append(f"{answer.unfit:,} keep their data: it has no fields, or would be too long")
    if answer.left:
        whys.append(f"{answer.left:,} are still to be changed: workers go on with it")
    return whys


def _ask(id: str, pool: str, state: str, change: Mapping[str, Any]) -> None:
    view = inspect.chunks_of(id, pool, count=1)
    if view is None:
        raise CommandError(f"There is no task {id!r}{f' in the pool {pool!r}' if pool else ''}.")
    shown = inspect.preview_edit(id, [state], pool, **change)
    lines = [
        printable(f"chunk {row.number}: {row.before} -> {row.after or 'stays: it has no fields'}") for row in shown
    ]
    confirm("\n".join([*lines, f"Change the data of {view.counts.get(state, 0):,} chunks, and run them again?"]))
