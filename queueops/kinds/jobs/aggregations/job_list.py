"""Job lists: jobs by aggregation, state, host and age, newest first, page by page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from queueops.errors import BadOption, NotDecodable
from queueops.inspect.answers import Answer, Broken
from queueops.inspect.query import TaskQuery
from queueops.inspect.store import now_ms
from queueops.inspect.task_rows import TaskFacts, TaskRow
from queueops.inspect.tasks import MOST, tasks
from queueops.kinds.jobs.aggregations.lane_names import lane_of_aggregation
from queueops.kinds.jobs.store import JOB, JobCalls
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.tasks.encoding import decode_arguments

READS = 10
"""Most readings of the store for one page with a host or an age, which may end before it is full."""
LONGEST_AGE_S = 100 * 366 * 86_400
TYPE = re.compile(r"\A[\w.]+: ", re.ASCII)
"""The beginning of a stored error: its type. A list shows the message, as the page of one job does."""


class JobRow(Answer, frozen=True, kw_only=True):
    """One job of a list."""

    TEXTS: ClassVar = ("url", "error")

    id: str
    pool: str
    aggregation: str
    url: str
    handler: str
    state: str
    attempt: int  # attempts that failed
    started: int = 0  # attempts that have begun
    retries: int
    created_ms: int
    entered_ms: int  # when it entered its state
    due_ms: int | None = None
    error: str = ""  # the last one, in one line


class JobPage(Answer, frozen=True, kw_only=True):
    """One page of a list; `next` continues it, empty at the end."""

    rows: tuple[JobRow, ...]
    next: str = ""
    partial: bool = False  # the page ended before it was full; `next` continues it
    broken: tuple[Broken, ...] = ()


def jobs(
    aggregation: str = "",
    state: str = "",
    host: str = "",
    *,
    older_than: float | None = None,
    newer_than: float | None = None,
    pool: str = "",
    after: str = "",
    limit: int = 50,
) -> JobPage:
    """The jobs of an aggregation, in a state, of a host (of the URL), and of an age in seconds; empty: all.

    `after` is the `next` of the page before. A host and an age have no index: such a page may be `partial`. Raises
    FilterError and BadOption.
    """
    lane = lane_of_aggregation(aggregation) if aggregation else ""
    query = TaskQuery(kind=JOB, state=state, lane=lane, pool=pool).checked()
    limit = max(1, min(limit, MOST))
    rows: list[JobRow] = []
    fits = _filter(host.lower(), _ago("older_than", older_than), _ago("newer_than", newer_than))
    for _ in range(READS if host or older_than or newer_than else 1):
        page = tasks(query, after, limit - len(rows))
        stored = get_role(JobCalls).arguments([(row.pool, row.id) for row in page.rows])
        found = [(row, _content(row, stored[row.pool, row.id])) for row in page.rows]
        rows += [_row(row, content) for row, content in found if fits(row, content)]
        after = page.next
        if not after or len(rows) == limit:
            break
    return JobPage(rows=tuple(rows), next=after, partial=bool(after) and len(rows) < limit, broken=page.broken)


def started_attempts(row: TaskFacts) -> int:
    """The attempts that have begun: those that failed or lost their worker, and one that runs or has succeeded."""
    return row.attempt + row.crashes + (row.state in (State.LOCKED, State.SUCCEEDED))


def host_of(url: str) -> str:
    """The host of a URL, without its port; empty if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _ago(name: str, seconds: float | None) -> int | None:
    """The time that is so long ago. Raises BadOption."""
    if seconds is not None and not 0 <= seconds <= LONGEST_AGE_S:
        raise BadOption(name=name, value=seconds, expected=f"a number of seconds from 0 to {LONGEST_AGE_S:,}")
    return None if seconds is None else now_ms() - round(seconds * 1000)


def _filter(host: str, before: int | None, since: int | None) -> Callable[[TaskRow, Mapping[str, Any]], bool]:
    """Whether a job is in the list: of this host, created before one time and since another."""

    def fits(row: TaskRow, content: Mapping[str, Any]) -> bool:
        is_in_time = (before is None or row.created_ms < before) and (since is None or row.created_ms >= since)
        return is_in_time and (not host or host_of(str(content.get("url", ""))) == host)

    return fits


def _content(row: TaskRow, arguments: bytes) -> Mapping[str, Any]:
    try:
        return decode_arguments(row.name, arguments)[1]
    except NotDecodable:
        return {}


def _row(row: TaskRow, content: Mapping[str, Any]) -> JobRow:
    return JobRow(
        id=row.id,
        pool=row.pool,
        aggregation=str(content.get("aggregation", "")),
        url=str(content.get("url", "")),
        handler=row.name,
        state=row.state,
        attempt=row.attempt,
        started=started_attempts(row),
        retries=row.retries,
        created_ms=row.created_ms,
        entered_ms=row.entered_ms,
        due_ms=row.due_ms,
        error=TYPE.sub("", row.error),
    )
