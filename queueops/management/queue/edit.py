"""Edit of a task's arguments and of a chunk's data."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.inspect.redaction import KEPT, masked_arguments, masked_data
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm, place_of
from queueops.management.queue.formatting import to_json
from queueops.management.queue.report import report
from queueops.model.redact import MASK, cut


def edit(
    *,
    id: str,
    positional: list[Any] | None,
    named: dict[str, Any] | None,
    pool: str,
    yes: bool,
    as_json: bool,
    **_: Any,
) -> Iterator[str]:
    """Replace all or some arguments of a task; if it has ended, or is in back-off, it runs again with them."""
    if positional is None and named is None:
        raise CommandError("Edit what? Give --args, --kwargs or both.", returncode=2)
    found = inspect.task(id, pool)
    if found is None:
        raise CommandError(f"There is no task {id!r}{f' in the pool {pool!r}' if pool else ''}.")
    if found.goes_on_at in ("process", "reduce") and not yes:
        confirm(f"With other arguments {id} maps anew. Throw its chunks and their results away?")
    before = {"args": cut(found.args_json, KEPT)}
    after = {"args": masked_arguments(positional, named, found.kind, found.name)}  # null: the present ones
    with audit.recorded(verb="edit", pool=found.pool, ids=[id], before=before, after=after) as act:
        act.rows = [control.edit_and_retry(id, positional, named, found.pool, who=act.who)]
    return report(act.rows, as_json=as_json)


def edit_chunk(*, id: str, number: int, data: Any, retry: bool, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Replace the data of a chunk, and retry it if asked. Fails if that was refused."""
    found = inspect.chunk(id, number, pool)
    if found is None:
        raise CommandError(f"There is no chunk {number} of a task {id!r}{f' in the pool {pool!r}' if pool else ''}.")
    verb = "redo" if retry else "edit"
    before = {"chunks": [number], "data": cut(found.data_json, KEPT)}
    facts = {"pool": place_of(id, pool), "ids": [id], "target": f"{id}: {number}", "before": before}
    with audit.recorded(verb=f"{verb}_chunks", after={"data": masked_data(data)}, **facts) as act:
        answer = control.edit_chunk(id, number, data, retry=retry, pool=pool, who=act.who)
        whys = [why for _number, why in control.reasons(verb, answer)]
        act.changed, act.refused = answer.changed, "; ".join(whys)
    yield to_json(answer) if as_json else "\n".join(whys) or f"The chunk {number} of {id} has other data."
    if not answer.changed:
        raise SystemExit(1)


def any_json(text: str) -> Any:
    """Any JSON value, but without masked parts of a shown value."""
    if MASK in text:
        raise ArgumentTypeError(f"replace every {MASK} by its value")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"this is no JSON: {error}") from error


def json_list(text: str) -> list[Any]:
    """A JSON list."""
    value = any_json(text)
    if not isinstance(value, list):
        raise ArgumentTypeError("""write a JSON list, such as '[42, "a"]'""")
    return value


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    value = any_json(text)
    if not isinstance(value, dict):
        raise ArgumentTypeError("""write a JSON object, such as '{"key": 1}'""")
    return value
