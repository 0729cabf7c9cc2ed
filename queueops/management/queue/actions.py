"""Actions on tasks, named by ids or by a filter whose matches are counted and confirmed first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from queueops import conf, control, inspect
from queueops.control.per_pool_calls import located
from queueops.control.verbs import ON_TASKS
from queueops.management.queue import audit, by_workers
from queueops.management.queue.by_workers import Planned
from queueops.management.queue.formatting import printable
from queueops.management.queue.numbers import numbered
from queueops.management.queue.queries import query_of
from queueops.management.queue.report import report, streamed, summed
from queueops.management.queue.selection import Found, matching
from queueops.model.contracts import Row

AHEAD = 10_000
"""With more tasks than this the command shows its progress, each time after this number."""
MOST_LOOKED_AT = 20
"""Up to this number of tasks the side effects are shown for each task."""

Given = dict[str, Any]
Call = Callable[..., list[Row]]


def act(**given: Any) -> Iterator[str]:
    """Act on each task once, 500 a call, each call recorded; yields the rows. Workers perform what is more."""
    known = ON_TASKS[given["subcommand"].replace("-", "_")]
    verb, call = known.name, partial(known.act, **known.arguments(given))
    if verb == "cancel" and given["hard"]:
        verb = "interrupt"
    if not given["ids"] and not given["here"] and (planned := by_workers.planned(verb, query_of(given))):
        return _by_workers(verb, planned, given)
    query, found = query_of(given), _chosen(given)
    if not given["yes"]:
        told = _effects(verb, found)
        if found.count > 1 or (found.count and known.final) or told:
            tasks = f"{'' if found.exact else 'at most '}{numbered(found.count, query.kind)}"
            note = (str(ON_TASKS[verb].note),) if ON_TASKS[verb].asks_first else ()
            confirm("\n".join((*note, *told, f"{verb.replace('_', ' ').capitalize()} {tasks}?")))
    facts = {"verb": verb, "filter": query.params(), "reason": given.get("reason", "")}
    answers = _done(call, found, facts)
    if found.rest is None:
        return report([row for rows in answers for row in rows], as_json=given["as_json"], record=query.kind)
    return streamed(answers) if given["as_json"] else summed(answers)


def confirm(question: str) -> None:
    """Ask on the standard error; raises CommandError unless the answer is yes. Another store is named first."""
    if store := conf.store_name():
        question = f"In the store {store}:\n{question}"
    try:
        with redirect_stdout(sys.stderr):
            answer = input(f"{question} [y/N] ")
    except EOFError:
        raise CommandError("No terminal can answer the question; add --yes.", returncode=2) from None
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was done.")


def _by_workers(verb: str, planned: Planned, given: Given) -> Iterator[str]:
    """Ask as for any number, with how workers would begin; then they perform it."""
    if not given["yes"]:
        seen = "cancel" if verb == "interrupt" else verb
        found = inspect.operation_preview(seen, planned.query, asked_ms=planned.asked_ms)
        rule = inspect.rule(verb, planned.query.state, has_parts=bool(found.parts))
        number = f"{'' if planned.exact else 'at most '}{numbered(planned.count, planned.query.kind)}"
        question = f"{verb.replace('_', ' ').capitalize()} {number}, by workers?"
        confirm("\n".join(filter(None, (rule, question))))
    return by_workers.perform(verb, planned, given)


def _done(call: Call, found: Found, facts: dict[str, Any]) -> Iterator[list[Row]]:
    """The answers, call by call; with many tasks it shows the progress on the standard error."""
    done = 0
    for pool, ids in found.batches(control.MOST):
        with audit.recorded(pool=pool, ids=ids, **facts) as act:
            act.rows = call(act.ids, pool=pool, who=act.who, token=act.token)
        yield list(act.rows)
        done, before = done + len(ids), done
        if found.count > AHEAD and done // AHEAD > before // AHEAD:
            print(f"{done:,} of {found.count:,}", file=sys.stderr, flush=True)


def _effects(verb: str, found: Found) -> tuple[str, ...]:
    """The side effects on other tasks; for many tasks their general rule."""
    if verb not in inspect.REACHING or found.count > MOST_LOOKED_AT:
        return inspect.effects_on_many(verb, found.ahead)
    tasks = (inspect.task(id, pool) for pool, ids in found.ahead.items() for id in ids)
    told = [printable(text) for task in tasks if task is not None for text in inspect.effects(verb, task)]
    return tuple(dict.fromkeys(told))


def _chosen(given: Given) -> Found:
    """The given tasks, or all that match the filter now."""
    query = query_of(given)
    if given["ids"]:
        if set(query.params()) - {"pool"}:
            raise CommandError("Give ids, or a filter, not both.", returncode=2)
        ids = list(dict.fromkeys(given["ids"]))
        return Found(ahead=_placed(ids, query.pool), count=len(ids))
    if not query.params():
        raise CommandError("Which tasks? Give ids, or a filter such as --state failed.", returncode=2)
    return matching(query)


def _placed(ids: list[str], pool: str) -> dict[str, list[str]]:
    """The ids by the pool that holds them. Unknown ids are under an empty name, and are answered as gone."""
    if pool:
        return {pool: ids}
    chosen: dict[str, list[str]] = {}
    for start in range(0, len(ids), control.MOST):
        for place, there in located(ids[start : start + control.MOST], "")[0].items():
            chosen.setdefault(place, []).extend(there)
    known = {id for there in chosen.values() for id in there}
    lost = [id for id in ids if id not in known]
    return chosen | ({"": lost} if lost else {})
