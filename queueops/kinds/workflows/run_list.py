"""Lists of runs: by state and name page by page, or all runs of one instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from queueops.inspect.answers import Answer, Broken
from queueops.inspect.id_search import tasks_with_prefix
from queueops.inspect.query import TaskQuery
from queueops.inspect.redaction import conceals, redactor
from queueops.inspect.store import open_reader, pools_of
from queueops.inspect.task_rows import TaskRow
from queueops.inspect.tasks import tasks
from queueops.kinds.workflows.run_store import RunFields
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.redact import cut
from queueops.redis.broker import get_role
from queueops.redis.query_replies import may_be_id, maybe_whole

RUN = "workflow"
MOST_OF_CHAIN = 50
"""The most runs of one instance in an answer."""
SHOWN = 500


class RunFacts(Answer, frozen=True, kw_only=True):
    """A run in a list. `status` is the value of `wf.set_status`, masked; empty for users without the permission."""

    TEXTS_OF_TASKS: ClassVar = ("reason",)

    id: str
    pool: str
    instance: str
    name: str
    state: str
    created_ms: int | None = None
    entered_ms: int | None = None
    due_ms: int | None = None
    status: str = ""
    reason: str = ""
    suspended_ms: int | None = None
    blocked_ms: int | None = None
    blocked_times: int = 0
    length: int = 0
    """Entries of its history."""
    waiting_events: int = 0
    waits_for: tuple[str, ...] = ()
    """Signals and places of the code where it waits."""
    before: str = ""
    after: str = ""
    parent: str = ""
    allowed: tuple[str, ...] = ()


class RunPage(Answer, frozen=True, kw_only=True):
    """One page of runs, the latest change of state first; `next` continues it, empty at the end."""

    rows: tuple[RunFacts, ...]
    next: str = ""
    total: int = 0
    exact: bool = True  # otherwise `total` is an upper bound
    partial: bool = False  # the page ended before it was full; `next` continues it
    broken: tuple[Broken, ...] = ()


def workflow_runs(
    state: str = "", name: str = "", pool: str = "", search: str = "", after: str = "", limit: int = 50
) -> RunPage:
    """Runs in a state and of a workflow; empty texts: all. Raises FilterError.

    With `search`, the runs of the instance of that id, the newest first, and the runs whose id begins with it.
    """
    if search:
        return _searched(search, state, name, pool)
    page = tasks(run_query(state, name, pool), after, limit)
    return RunPage(
        rows=_with_fields(page.rows),
        next=page.next,
        total=page.total,
        exact=page.exact,
        partial=page.partial,
        broken=page.broken,
    )


def run_query(state: str = "", name: str = "", pool: str = "") -> TaskQuery:
    """The filter of a list of tasks for these runs. Raises FilterError."""
    return TaskQuery(kind=RUN, state=state, name=name, pool=pool).checked()


def runs_of_instance(instance: str, pool: str) -> tuple[RunFacts, ...]:
    """The runs of an instance, the newest first, at most MOST_OF_CHAIN; none if it has none."""
    store = get_role(WorkflowCalls)
    run = store.newest_run(pool, instance) or ""
    found: list[RunFacts] = []
    while run and len(found) < MOST_OF_CHAIN:
        fields = store.run_fields([(pool, run)])[pool, run]
        if not fields.known:
            break
        found.append(facts_of(pool, run, fields))
        run = fields.known.get("vp", "")
    return tuple(found)


def _searched(search: str, state: str, name: str, pool: str) -> RunPage:
    wanted = run_query(state, name, pool)
    pools = pools_of(open_reader(), pool)
    rows = [row for place in pools if may_be_id(search) for row in runs_of_instance(search, place)]
    found = tasks_with_prefix(search)
    seen = {(row.pool, row.id) for row in rows}
    rows += _with_fields([row for row in found.rows if row.kind == RUN and (row.pool, row.id) not in seen])
    fit = [
        row
        for row in rows
        if (not wanted.state or row.state == wanted.state)
        and (not wanted.name or row.name == wanted.name)
        and (not wanted.pool or row.pool == wanted.pool)
    ]
    return RunPage(rows=tuple(fit), total=len(fit), partial=found.partial, broken=found.broken)


def _with_fields(rows: Sequence[TaskRow]) -> tuple[RunFacts, ...]:
    found = get_role(WorkflowCalls).run_fields([(row.pool, row.id) for row in rows])
    return tuple(facts_of(row.pool, row.id, found[row.pool, row.id], row) for row in rows)


def facts_of(pool: str, id: str, stored: RunFields, row: TaskRow | None = None) -> RunFacts:
    """The facts of a run: of its record, and of its row in a list of tasks."""
    fields = stored.known
    return RunFacts(
        id=id,
        pool=pool,
        instance=fields.get("vi", id),
        name=row.name if row else fields.get("n", ""),
        state=row.state if row else fields.get("s", ""),
        created_ms=row.created_ms if row else maybe_whole(fields.get("c")),
        entered_ms=row.entered_ms if row else None,
        due_ms=row.due_ms if row else maybe_whole(fields.get("d")),
        status=masked(fields["vq"].encode()) if "vq" in fields else "",
        reason=fields.get("y", ""),
        suspended_ms=maybe_whole(fields.get("vs")),
        blocked_ms=maybe_whole(fields.get("vb")),
        blocked_times=maybe_whole(fields.get("vc")) or 0,
        length=stored.history,
        waiting_events=stored.inbox,
        waits_for=places_of(fields),
        before=fields.get("vp", ""),
        after=fields.get("vx", ""),
        parent=fields.get("vr", ""),
        allowed=row.allowed if row else (),
    )


def places_of(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Where the code of a run waits, as its last step told."""
    return tuple(filter(None, fields.get("vw", "").split("\n")))


def masked(data: bytes) -> str:
    """A payload with its secrets masked; empty for users without the permission for arguments."""
    return "" if conceals() else cut(redactor().document(data), SHOWN)
