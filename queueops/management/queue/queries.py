"""Questions: status, list, count, show, why, tail. Each yields its output."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from typing import Any

from queueops import inspect
from queueops.errors import advice
from queueops.inspect import ErrorRow, Finding, TaskQuery, TaskRow
from queueops.inspect.alarm import manage
from queueops.inspect.export import TASK_COLUMNS, pieces, task_pages
from queueops.inspect.query import FACETS
from queueops.inspect.selection import PAGE, extent, extent_of
from queueops.inspect.why import GONE
from queueops.management.queue.formatting import cell, listing, moment, shown_broken, table, to_json
from queueops.management.queue.lookup import check_pool, task_of, told_others
from queueops.management.queue.task_view import shown_status, shown_task
from queueops.model.task_error import without_module

HEAD = ("ID", "STATE", "NAME", "POOL", "LANE", "FAILED", "SINCE", "ARGUMENTS", "ERROR")

GUESSED, MOST_NEAR = ("name", "lane", "kind", "tag"), 10
"""Filters with free values, and how many known values are named beside a wrong one."""
TOLD_EACH = 100_000
"""After so many candidates a count says how far it is."""
ERRORS_HEAD = ("FINGERPRINT", "COUNT", "FAILED", "LAST", "TASK", "ERROR")


def status(*, as_json: bool, **_: Any) -> Iterator[str]:
    """The whole system; exit status 1 if anything is wrong."""
    found = inspect.snapshot()
    yield to_json(found) if as_json else shown_status(found)
    if found.alarms:
        raise SystemExit(1)


def list_tasks(*, as_json: bool, limit: int, after: str, **given: Any) -> Iterator[str]:
    """A page of tasks. A search without an index goes on until it has found one, or has read all tasks."""
    query = searched(given)
    page = inspect.tasks(query, after=after, limit=limit)
    while page.partial and not page.rows and not page.broken:
        page = inspect.tasks(query, after=page.next, limit=limit)
    if not page.rows:
        check_pool(given["pool"])
    if as_json:
        yield to_json(page)
        return
    yield from shown_broken(page.broken)
    inspect.know_lanes((row.pool, row.lane) for row in page.rows)
    yield table(HEAD, map(_line, page.rows))
    known = extent_of(query, page)
    yield f"{len(page.rows)} of {'' if known.exact else 'at most '}{known.count:,}"
    if not page.rows and not after:
        yield from _unknown(query)
    if page.next:
        yield f"{'The search stopped early; ' if page.partial else ''}continue with --after {page.next}"


def count(*, as_json: bool, **given: Any) -> Iterator[str]:
    """The number of tasks that match. Without an index or a counter for it, all candidates are read."""
    query = searched(given)
    found = extent(query)
    number = found.count if found.exact else sum(1 for _ in _all(query))
    yield to_json({"filter": query.text, "count": number}) if as_json else f"{number:,}"


def _all(query: TaskQuery) -> Iterator[TaskRow]:
    seen, told, place = 0, 0, ""
    while True:
        page = inspect.tasks(query, after=place, limit=PAGE)
        yield from page.rows
        seen, place = seen + page.seen, page.next
        if not place:
            return
        if seen // TOLD_EACH > told:
            told = seen // TOLD_EACH
            print(f"{seen:,} of {page.total:,} searched", file=sys.stderr, flush=True)


def export(*, as_json: bool, format: str, **given: Any) -> Iterator[str]:
    """All tasks that match, page by page."""
    check_pool(given["pool"])
    pages = task_pages(searched(given))
    return (piece.text for piece in pieces(TASK_COLUMNS, pages, "ndjson" if as_json else format) if piece.text)


def show(*, id: str, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """One task."""
    found = task_of(id, pool)
    if not as_json:
        yield from shown_broken(found.broken)
    yield to_json(found) if as_json else shown_task(found)


def explain(*, id: str, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Why a task is not running; exit status 1 if it does not exist."""
    findings = inspect.why(id, pool)
    if as_json:
        yield to_json(findings)
    for finding in () if as_json else findings:
        value = f"  ({cell(finding.value, 200)})" if finding.value else ""
        mend = f"\n    mend it: {manage('queue')} {command}" if (command := _command(finding, pool)) else ""
        see = f"\n    see: {manage('queue')} tree {finding.target} --only open" if finding.place == "parts" else ""
        yield f"{'ok ' if finding.ok else 'NO '} {cell(finding.text, 500)}{value}{mend}{see}"
    if findings[0].text == GONE and not as_json:
        yield from told_others(id)
    if findings[0].text == GONE or inspect.task(id.partition("#")[0], pool) is None:
        raise SystemExit(1)


def list_errors(*, as_json: bool, limit: int, **_: Any) -> Iterator[str]:
    """The error groups, the latest first."""
    return listing(inspect.errors(limit), ERRORS_HEAD, _error_line, empty="No error is known.", as_json=as_json)


def follow(*, pool: str, name: str, id: str, seconds: float | None, as_json: bool, **_: Any) -> Iterator[str]:
    """Events as they happen; as JSON one object a line."""
    check_pool(pool)
    try:
        for event in inspect.tail(pool, seconds):
            if (name and event.name != name) or (id and event.id != id):
                continue
            yield to_json(event) if as_json else _told(event)
    except KeyboardInterrupt:
        return


def searched(given: dict[str, Any]) -> TaskQuery:
    """The filter in the options. What it cannot find stands on the standard error."""
    query = query_of(given)
    tell_unseen(query)
    return query


def tell_unseen(query: TaskQuery, status: str = "") -> None:
    """Write what a search does not find to the standard error."""
    for text in inspect.unseen(query, status):
        print(text, file=sys.stderr, flush=True)


def query_of(given: dict[str, Any]) -> TaskQuery:
    """The filter in the options."""
    facets = {facet: given.get(facet, "") for facet in FACETS}
    option, words = given.get("filter", ""), " ".join(given.get("words", ()))
    return TaskQuery.from_params(facets | {"q": f"({option}) ({words})" if option and words else option or words})


def _unknown(query: TaskQuery) -> Iterator[str]:
    """The facets of an empty result that no task has, with similar values."""
    known = inspect.facets(TaskQuery(pool=query.pool))
    for facet in GUESSED:
        value, values = getattr(query, facet), [name for name, _ in known[facet]]
        if value and value not in values and _is_nowhere(TaskQuery(**{"pool": query.pool, facet: value})):
            near = difflib.get_close_matches(value, values, n=MOST_NEAR, cutoff=0.3) or values[:MOST_NEAR]
            yield f"No task has the {facet} {value!r}{advice(value, near)}"


def _is_nowhere(query: TaskQuery) -> bool:
    """Whether certainly no task is found: the facets name only the most frequent values."""
    page = inspect.tasks(query, limit=1)
    return not (page.rows or page.next)


def _line(row: TaskRow) -> tuple[str, ...]:
    failed = f"{row.attempt} of {row.retries + 1}" if row.is_claimed and row.attempt else ""
    since = moment(row.entered_ms)
    return (
        row.id,
        row.state,
        row.name,
        row.pool,
        inspect.lane_label(row.lane),
        failed,
        since,
        row.args,
        _error(row),
    )


def _error(row: TaskRow) -> str:
    error = without_module(row.error)
    return f"earlier attempt: {error}" if error and row.error_is_earlier else error


def _error_line(row: ErrorRow) -> tuple[object, ...]:
    return row.fingerprint, row.count, row.failed, moment(row.last_ms), row.name, row.short_title


def _command(finding: Finding, pool: str) -> str:
    """The subcommand that repairs the finding, if there is one."""
    if finding.ok:
        return ""
    if finding.verb == "resume_lane":
        where, _, lane = finding.target.partition("/")
        return f"resume {lane} --pool {where}"
    if finding.verb in ("retry", "cancel", "run_now", "requeue", "discard", "restore"):
        return f"{finding.verb.replace('_', '-')} {finding.target}{f' --pool {pool}' if pool else ''}"
    if finding.verb == "interrupt":
        return f"cancel --hard {finding.target}{f' --pool {pool}' if pool else ''}"
    return ""


def _told(event: inspect.Event) -> str:
    if event.before or event.after:
        what = f"{event.before or 'new'} -> {event.after or 'gone'}"
    else:
        what = event.text or f"{event.done}{f' of {event.total}' if event.total else ''}"
    return f"{moment(event.t)}  {event.pool}  {cell(event.id)}  {cell(event.name)}  {cell(what, 300)}"
