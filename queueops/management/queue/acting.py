"""The verbs on tasks: named by ids, or by a filter whose matches are collected first, counted and confirmed."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.contracts import Row
from queueops.management.queue.asking import query_of
from queueops.management.queue.screen import table, to_json

MOST = 100_000
"""More tasks than this are not acted on in one command."""
PAGE = 200

Verb = Callable[[Sequence[str], str], list[Row]]
Chosen = dict[str, list[str]]


def retry(**given: Any) -> Iterator[str]:
    """Run again."""
    return _act("retry", lambda ids, pool: control.retry(ids, pool, who=who()), given)


def run_now(**given: Any) -> Iterator[str]:
    """Make ready."""
    return _act("run now", lambda ids, pool: control.run_now(ids, pool, who=who()), given)


def cancel(**given: Any) -> Iterator[str]:
    """Cancel, with a reason."""
    return _act("cancel", lambda ids, pool: control.cancel(ids, given["reason"], pool, who=who()), given)


def delete(**given: Any) -> Iterator[str]:
    """Move to the trash."""
    return _act("delete", lambda ids, pool: control.delete(ids, pool, who=who()), given)


def postpone(**given: Any) -> Iterator[str]:
    """Let wait."""
    seconds = given["delay"]
    return _act("postpone", lambda ids, pool: control.postpone(ids, seconds=seconds, pool=pool, who=who()), given)


def _act(verb: str, call: Verb, given: dict[str, Any]) -> Iterator[str]:
    """Act on each task once, 500 a call; yields the rows. Fails at its end when any was refused."""
    chosen = _chosen(given)
    count = sum(map(len, chosen.values()))
    if count > 1 and not given["yes"]:
        confirm(f"{verb.capitalize()} {count:,} tasks?")
    rows = [
        row
        for pool, ids in chosen.items()
        for start in range(0, len(ids), control.MOST)
        for row in call(ids[start : start + control.MOST], pool)
    ]
    done = sum(row.word in ("OK", "REPEAT") for row in rows)
    if given["as_json"]:
        yield to_json(rows)
    elif rows:
        yield table(("ID", "ANSWER", "STATE", "REASON"), ((row.id, row.word, row.state, row.detail) for row in rows))
        yield f"{done:,} of {len(rows):,} done"
    else:
        yield "No task matches."
    if done < len(rows):
        raise SystemExit(1)


def _chosen(given: dict[str, Any]) -> Chosen:
    """The ids by pool: as given, or all that match the filter now."""
    query = query_of(given)
    if given["ids"]:
        if set(query.params()) - {"pool"}:
            raise CommandError("Give ids, or a filter, not both.", returncode=2)
        return {query.pool: list(dict.fromkeys(given["ids"]))}
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


def confirm(question: str) -> None:
    """Ask; raises CommandError unless the answer is yes."""
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        raise CommandError("There is nobody to ask; add --yes.", returncode=2) from None
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was done.")


def who() -> str:
    """Whoever types."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):
        return "command line"
