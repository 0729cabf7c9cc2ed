"""Lists of runs: those that match a filter page by page, or all runs of one instance."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import ClassVar

from queueops.inspect.answers import Answer, Broken
from queueops.inspect.errors import read_failure, title
from queueops.inspect.id_search import tasks_with_prefix
from queueops.inspect.query import TaskQuery
from queueops.inspect.redaction import conceals, redactor
from queueops.inspect.store import now_ms, open_reader, pools_of
from queueops.inspect.task_rows import TaskRow
from queueops.kinds.workflows.inspect.run_chain import ChainPage, chain_page, runs_from
from queueops.kinds.workflows.inspect.run_filter import (
    BUDGET,
    CONTINUED,
    MARKS,
    MOST,
    RUN,
    RunFilter,
    age_ms,
    find_runs,
    plain,
    shows,
)
from queueops.kinds.workflows.replay.step import FRAME
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.kinds.workflows.store.run_store import RunFields
from queueops.model.redact import cut
from queueops.model.states import TERMINAL
from queueops.redis.broker import get_role
from queueops.redis.query_replies import may_be_id, maybe_whole

MOST_OF_CHAIN = 50
"""The most runs of one instance in an answer."""
SHOWN = 500
_PLACE = re.compile(r".*[/\\](?=[^/\\]+:\d+ in )")


class RunFacts(Answer, frozen=True, kw_only=True):
    """A run in a list. `status` is the value of `wf.set_status`, masked; empty for users without the permission."""

    TEXTS: ClassVar = ("error",)
    TEXTS_OF_TASKS: ClassVar = ("reason",)
    STORED: ClassVar = ("reason",)

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
    error: str = ""  # of a failed run, in one line
    suspended_ms: int | None = None
    continued_ms: int | None = None
    blocked_ms: int | None = None
    blocked_times: int = 0
    length: int = 0
    """Entries of its history."""
    waiting_events: int = 0
    waits_for: tuple[str, ...] = ()
    """Signals and places of the code where it waits, each as `module.py:line in function`."""
    tags: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    parent: str = ""
    allowed: tuple[str, ...] = ()

    @property
    def status_text(self) -> str:
        """The status for people: a text without its quotes, other values as JSON."""
        return plain(self.status)

    @property
    def shown_state(self) -> str:
        """Its state for people: `continued` for a run that ended because it continued as new."""
        return self.state if self.continued_ms is None else CONTINUED

    def is_in(self, state: str) -> bool:
        """Whether it is in a state of tasks, or has a mark of MARKS; each run is in the state ""."""
        if state in MARKS:
            return getattr(self, f"{state}_ms") is not None
        return state in ("", self.shown_state)


class RunPage(Answer, frozen=True, kw_only=True):
    """One page of runs, the newest first; `next` continues it, empty at the end."""

    rows: tuple[RunFacts, ...]
    next: str = ""
    total: int = 0
    exact: bool = True  # otherwise `total` is an upper bound
    partial: bool = False  # the page ended before it was full; `next` continues it
    seen: int = 0  # the candidates that were looked at
    broken: tuple[Broken, ...] = ()


def workflow_runs(
    state: str = "",
    name: str = "",
    pool: str = "",
    search: str = "",
    after: str = "",
    limit: int = 50,
    *,
    instance: str = "",
    tag: str = "",
    status: str = "",
    older: float | timedelta | str = "",
    younger: float | timedelta | str = "",
    budget: int = BUDGET,
) -> RunPage:
    """Runs that match each part of the filter that is given, the newest first. Raises FilterError.

    `state` is a state of tasks, or `blocked`: runs whose step could not be made; `suspended`; or `continued`: runs that
    ended because they continued as new, which are not among those that `succeeded`. The last one is the first of these.
    `instance` is a whole id, or a beginning such as `order-*`. `status` is a part of the custom status. `older` and
    `younger` limit the time since the start: seconds, or a text such as `12h`. With `search`, the runs of the instance
    of that id, the newest first, and the runs whose id begins with it. A page looks at `budget` candidates of each pool
    at most.
    """
    wanted = RunFilter(
        state=state,
        name=name,
        pool=pool,
        tag=tag,
        instance=instance,
        status=status,
        older_ms=age_ms(older),
        younger_ms=age_ms(younger),
    ).checked()
    if search:
        return _searched(search, wanted)
    limit = max(1, min(limit, MOST))
    if instance and "*" not in instance:
        chain = chain_page(wanted, after, limit)
        if chain.runs or not (chain.next and chain.is_walk):
            return _of_chain(chain, wanted, limit)
        after = chain.next
    found = find_runs(wanted, after, limit, budget)
    return RunPage(
        rows=_with_fields(found.rows, wanted.status),
        next=found.next,
        total=found.size,
        exact=wanted.is_exact,
        partial=bool(found.next) and len(found.rows) < limit,
        seen=found.seen,
        broken=found.broken,
    )


def run_query(state: str = "", name: str = "", pool: str = "") -> TaskQuery:
    """The filter of a list of tasks for these runs. Raises FilterError."""
    return TaskQuery(kind=RUN, state=state, name=name, pool=pool).checked()


def runs_of_instance(instance: str, pool: str) -> tuple[RunFacts, ...]:
    """The runs of an instance, the newest first, at most MOST_OF_CHAIN; none if it has none."""
    run = get_role(WorkflowCalls).newest_run(pool, instance) or ""
    return tuple(facts_of(*each) for each in islice(runs_from(pool, run), MOST_OF_CHAIN))


def run_facts(id: str, pool: str) -> RunFacts | None:
    """One run as a list shows it; None if it is gone."""
    fields = get_role(WorkflowCalls).run_fields([(pool, id)])[pool, id]
    return facts_of(pool, id, fields) if fields.known else None


def _of_chain(chain: ChainPage, wanted: RunFilter, limit: int) -> RunPage:
    rows = [facts_of(*each) for each in chain.runs]
    now = now_ms() if wanted.older_ms or wanted.younger_ms else 0
    fit = tuple(row for row in rows if _fits(row, wanted, now))
    return RunPage(
        rows=fit, next=chain.next, total=len(fit), exact=False, partial=bool(chain.next) and len(fit) < limit
    )


def _searched(search: str, wanted: RunFilter) -> RunPage:
    pools = pools_of(open_reader(), wanted.pool)
    rows = [row for place in pools if may_be_id(search) for row in runs_of_instance(search, place)]
    found = tasks_with_prefix(search)
    seen = {(row.pool, row.id) for row in rows}
    rows += _with_fields([row for row in found.rows if row.kind == RUN and (row.pool, row.id) not in seen])
    now = now_ms() if wanted.older_ms or wanted.younger_ms else 0
    fit = [row for row in rows if _fits(row, wanted, now)]
    return RunPage(rows=tuple(fit), total=len(fit), partial=found.partial, broken=found.broken)


def _fits(row: RunFacts, wanted: RunFilter, now: int) -> bool:
    exact = ((wanted.name, row.name), (wanted.pool, row.pool))
    start, star, _ = wanted.instance.partition("*")
    is_instance = row.instance.startswith(start) if star else wanted.instance in ("", row.instance)
    age = max(0, now - (row.created_ms or now))
    return (
        row.is_in(wanted.state)
        and all(part in ("", value) for part, value in exact)
        and (not wanted.tag or wanted.tag in row.tags)
        and is_instance
        and wanted.status.casefold() in row.status.casefold()
        and age >= wanted.older_ms
        and (not wanted.younger_ms or age <= wanted.younger_ms)
    )


def _with_fields(rows: Sequence[TaskRow], status: str = "") -> tuple[RunFacts, ...]:
    found = get_role(WorkflowCalls).run_fields([(row.pool, row.id) for row in rows])
    return tuple(
        facts_of(row.pool, row.id, fields, row)
        for row in rows
        if shows((fields := found[row.pool, row.id]).known.get("vq", ""), status)
    )


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
        error=title(read_failure(fields.get("er", "").encode())),
        suspended_ms=maybe_whole(fields.get("vs")),
        continued_ms=maybe_whole(fields.get("ve")),
        blocked_ms=maybe_whole(fields.get("vb")),
        blocked_times=maybe_whole(fields.get("vc")) or 0,
        length=stored.history,
        waiting_events=stored.inbox,
        waits_for=tuple(map(short_place, places_of(fields))),
        tags=row.tags if row else tuple(filter(None, fields.get("tg", "").split(","))),
        before=fields.get("vp", ""),
        after=fields.get("vx", ""),
        parent=fields.get("vr", ""),
        allowed=row.allowed if row else (),
    )


def places_of(fields: Mapping[str, str]) -> tuple[str, ...]:
    """The signals that the code of a run waits for, and where it waits, as its last step told."""
    return tuple(stack[-1] for stack in stacks_of(fields))


def stacks_of(fields: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """The same with all frames of each waiting coroutine, the outermost first. A signal is one text.

    A run that was cancelled from outside has what its last step told; its code does not wait any more.
    """
    if fields.get("s") in TERMINAL:
        return ()
    return tuple(tuple(line.split(FRAME)) for line in fields.get("vw", "").split("\n") if line)


def died_of(fields: Mapping[str, str]) -> tuple[str, ...]:
    """The tasks of its code that have failed, and whose errors no code has awaited; their secrets are masked."""
    if fields.get("s") in TERMINAL:
        return ()
    return tuple(redactor().message(line) for line in fields.get("vy", "").split("\n") if line)


def short_place(place: str) -> str:
    """A place of the code without its folders: `module.py:line in function`."""
    return _PLACE.sub("", place, count=1)


def masked(data: bytes) -> str:
    """A payload with its secrets masked; empty for users without the permission for arguments."""
    return "" if conceals() else cut(redactor().document(data), SHOWN)
