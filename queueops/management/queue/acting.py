"""The verbs on tasks: named by ids, or by a filter whose matches are collected first, counted and confirmed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.contracts import Row
from queueops.control.act import places
from queueops.management.queue import journal
from queueops.management.queue.asking import query_of
from queueops.management.queue.screen import printable, table, to_json

MOST = 100_000
"""More tasks than this are not acted on in one command."""
PAGE = 200
IRREVERSIBLE = ("discard",)
"""Verbs that are asked about for one task, too."""
DAY_S = 86_400
MOST_LOOKED_AT = 20
"""Of so many tasks it is told one by one what a verb does to others."""
LONGEST_REASON = 400
"""A reason names other tasks and says what to do, so it is cut no sooner."""

Verb = Callable[..., list[Row]]
Chosen = dict[str, list[str]]


def retry(**given: Any) -> Iterator[str]:
    """Run again."""
    return _act("retry", partial(control.retry, everything=given["everything"]), given)


def run_now(**given: Any) -> Iterator[str]:
    """Make ready."""
    return _act("run_now", control.run_now, given)


def cancel(**given: Any) -> Iterator[str]:
    """Cancel, with a reason; running code is asked to stop, or interrupted."""
    return _act(
        "interrupt" if given["hard"] else "cancel",
        partial(control.cancel, reason=given["reason"], hard=given["hard"]),
        given,
    )


def delete(**given: Any) -> Iterator[str]:
    """Move to the trash."""
    return _act("delete", control.delete, given)


def restore(**given: Any) -> Iterator[str]:
    """Bring back from the trash."""
    return _act("restore", control.restore, given)


def postpone(**given: Any) -> Iterator[str]:
    """Let wait."""
    return _act("postpone", partial(control.postpone, seconds=given["delay"]), given)


def keep(**given: Any) -> Iterator[str]:
    """Keep longer."""
    return _act("keep", partial(control.keep, seconds=given["days"] * DAY_S), given)


def prioritise(**given: Any) -> Iterator[str]:
    """Change the priority."""
    return _act("priority", partial(control.set_priority, priority=given["to"]), given)


def move(**given: Any) -> Iterator[str]:
    """Put into another lane."""
    return _act("move", partial(control.move, lane=given["to"]), given)


def release(**given: Any) -> Iterator[str]:
    """Take from their workers."""
    return _act("release", control.release, given)


def requeue(**given: Any) -> Iterator[str]:
    """Give another try."""
    return _act("requeue", control.requeue, given)


def discard(**given: Any) -> Iterator[str]:
    """Throw away."""
    return _act("discard", control.discard, given)


def report(rows: Sequence[Row], *, as_json: bool) -> Iterator[str]:
    """What became of each task. Fails at its end when any was refused."""
    done = sum(row.word in ("OK", "REPEAT") for row in rows)
    if as_json:
        yield to_json(rows)
    elif rows:
        cells = ((row.id, row.word, row.state, row.detail) for row in rows)
        yield table(("ID", "ANSWER", "STATE", "REASON"), cells, widest=LONGEST_REASON)
        yield f"{done:,} of {len(rows):,} done"
    else:
        yield "No task matches."
    if done < len(rows):
        raise SystemExit(1)


def confirm(question: str) -> None:
    """Ask, aside of what is printed; raises CommandError unless the answer is yes."""
    try:
        with redirect_stdout(sys.stderr):
            answer = input(f"{question} [y/N] ")
    except EOFError:
        raise CommandError("There is nobody to ask; add --yes.", returncode=2) from None
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was done.")


def place_of(id: str, pool: str) -> str:
    """The pool that holds a task; as it was given when none does."""
    return next(iter(places([id], pool)), pool)


def _act(verb: str, call: Verb, given: dict[str, Any]) -> Iterator[str]:
    """Act on each task once, 500 a call, each of them recorded; yields the rows."""
    chosen = _chosen(given)
    count = sum(map(len, chosen.values()))
    if not given["yes"]:
        told = _effects(verb, chosen)
        if count > 1 or (count and verb in IRREVERSIBLE) or told:
            asked = f"{verb.replace('_', ' ').capitalize()} {count:,} {'tasks' if count > 1 else 'task'}?"
            confirm("\n".join((*told, asked)))
    facts = {"verb": verb, "filter": query_of(given).params(), "reason": given.get("reason", "")}
    rows: list[Row] = []
    for pool, ids in chosen.items():
        for start in range(0, len(ids), control.MOST):
            with journal.recorded(pool=pool, ids=ids[start : start + control.MOST], **facts) as act:
                act.rows = call(act.ids, pool=pool, who=act.who)
            rows += act.rows
    return report(rows, as_json=given["as_json"])


def _effects(verb: str, chosen: Chosen) -> tuple[str, ...]:
    """What it does to other tasks; of more tasks than are looked at one by one, the rule."""
    ids = [(id, pool) for pool, there in chosen.items() for id in there]
    if verb not in inspect.REACHING or len(ids) > MOST_LOOKED_AT:
        return (inspect.REACHING[verb],) if verb in inspect.REACHING else ()
    found = (inspect.task(id, pool) for id, pool in ids)
    told = [printable(text) for task in found if task is not None for text in inspect.effects(verb, task)]
    return tuple(dict.fromkeys(told))


def _chosen(given: dict[str, Any]) -> Chosen:
    """The ids by pool: as given, or all that match the filter now."""
    query = query_of(given)
    if given["ids"]:
        if set(query.params()) - {"pool"}:
            raise CommandError("Give ids, or a filter, not both.", returncode=2)
        return _placed(list(dict.fromkeys(given["ids"])), query.pool)
    if not query.params():
        raise CommandError("Which tasks? Give ids, or a filter such as --state failed.", returncode=2)
    chosen: Chosen = {}
    after, count = "", 0
    while True:
        page = inspect.tasks(query, after=after, limit=PAGE)
        for row in page.rows:
            chosen.setdefault(row.pool, []).append(row.id)
        count, after = count + len(page.rows), page.next
        if count > MOST:
            raise CommandError(f"Over {MOST:,} tasks match; narrow the filter.")
        if not after:
            return chosen


def _placed(ids: list[str], pool: str) -> Chosen:
    """The ids by the pool that holds them; those that nobody holds are of no pool, and are answered as gone."""
    if pool:
        return {pool: ids}
    chosen: Chosen = {}
    for start in range(0, len(ids), control.MOST):
        for place, there in places(ids[start : start + control.MOST], "").items():
            chosen.setdefault(place, []).extend(there)
    known = {id for there in chosen.values() for id in there}
    lost = [id for id in ids if id not in known]
    return chosen | ({"": lost} if lost else {})
