"""Every question of ``queueops.inspect`` that asks the store, about the pool of ``tests.support.specimens``."""

from __future__ import annotations

import inspect as signatures
from collections.abc import Callable, Mapping
from itertools import islice

from queueops import inspect
from queueops.inspect import TaskQuery
from tests.support.specimens import NAME, SICK

WITHOUT_STORE = {
    *("bound_of", "callback_query", "chunk_verbs", "is_own_name", "job_story", "know_lanes", "lane_label", "matches"),
    *("next_runs", "preview", "rule", "run_query", "schedulable", "stages", "status_of", "unkept_schedules", "effects"),
    *("outbox", "outbox_figures", "outbox_in_use", "unseen"),
    *("api_tokens", "in_words", "orphan_files", "parse_filter", "push_parameters", "push_pool"),
}
"""Those that ask no server of the store, or only the database and a disk."""
_LANE = [(SICK, "narrow")]

QUESTIONS: dict[str, Callable[[], object]] = {
    "aggregation": lambda: inspect.aggregation("narrow", SICK),
    "aggregations": inspect.aggregations,
    "all_chunks": inspect.all_chunks,
    "blocked_run_count": inspect.blocked_run_count,
    "backfill": lambda: inspect.backfill("0 3 * * *", "UTC", 0, 1),
    "browse": lambda: inspect.browse(TaskQuery()),
    "callback_body": lambda: inspect.callback_body("n", SICK),
    "callbacks": inspect.callbacks,
    "chunk": lambda: inspect.chunk("m", 0, SICK),
    "chunk_lanes": inspect.chunk_lanes,
    "chunks": lambda: inspect.chunks("m", SICK),
    "chunks_named": lambda: inspect.chunks_named("m", [0, 1], SICK),
    "chunks_of": lambda: inspect.chunks_of("m", SICK),
    "commands": inspect.commands,
    "counts": lambda: inspect.counts(
        [TaskQuery(), TaskQuery(name=NAME, state="failed"), TaskQuery(tag="red", state="failed")]
    ),
    "dead_commands": inspect.dead_commands,
    "dead_follow_ups": inspect.dead_follow_ups,
    "destinations": inspect.destinations,
    "effects_on_many": lambda: inspect.effects_on_many("cancel", {SICK: ["n"]}),
    "errors": inspect.errors,
    "facets": lambda: inspect.facets(TaskQuery()),
    "file_deletions": inspect.file_deletions,
    "fsck": lambda: inspect.fsck(SICK),
    "job_lane": lambda: inspect.job_lane("narrow", SICK),
    "jobs": inspect.jobs,
    "lane": lambda: inspect.lane(SICK, "narrow"),
    "lane_page": inspect.lane_page,
    "lane_trends": lambda: inspect.lane_trends(_LANE),
    "lanes": inspect.lanes,
    "look_up": lambda: inspect.look_up("n"),
    "other_ids": lambda: inspect.other_ids("n"),
    "name_trends": lambda: inspect.name_trends([NAME]),
    "now_ms": inspect.now_ms,
    "operation": lambda: inspect.operation("n", SICK),
    "operation_preview": lambda: inspect.operation_preview("cancel", TaskQuery(pool=SICK), asked_ms=inspect.now_ms()),
    "operation_waits": lambda: inspect.operation_waits(TaskQuery(pool=SICK)),
    "operations": inspect.operations,
    "operations_of": lambda: inspect.operations_of([("n", SICK)]),
    "overview_history": inspect.overview_history,
    "reach_store": inspect.reach_store,
    "past": lambda: inspect.past(inspect.now_ms() - 60_000),
    "pool": lambda: inspect.pool(SICK),
    "pools_without_workers": lambda: inspect.pools_without_workers(TaskQuery()),
    "parts_graph": lambda: inspect.parts_graph("g", SICK),
    "preview_edit": lambda: inspect.preview_edit("m", ["errored"], SICK, fields={"a": 1}),
    "raw": lambda: inspect.raw("n", SICK),
    "registry": inspect.registry,
    "run_children": lambda: inspect.run_children("r", SICK),
    "run_count": lambda: inspect.run_count("suspended"),
    "run_counts": inspect.run_counts,
    "run_facts": lambda: inspect.run_facts("r", SICK),
    "runs_of_instance": lambda: inspect.runs_of_instance("r", SICK),
    "schedule": lambda: inspect.schedule("hourly", SICK),
    "schedules": inspect.schedules,
    "search": lambda: inspect.search(TaskQuery(), ""),
    "series": inspect.series,
    "load": inspect.load,
    "snapshot": inspect.snapshot,
    "status": inspect.status,
    "stored_files": inspect.stored_files,
    "tail": lambda: list(islice(inspect.tail(SICK, seconds=0.01), 1)),
    "task": lambda: inspect.task("n", SICK),
    "task_name": lambda: inspect.task_name(NAME),
    "rows_now": lambda: inspect.rows_now([(SICK, "n")]),
    "tasks": lambda: inspect.tasks(TaskQuery()),
    "tasks_with_prefix": lambda: inspect.tasks_with_prefix("n"),
    "trash": lambda: inspect.trash(SICK),
    "tree": lambda: inspect.tree("g", SICK),
    "trends": lambda: inspect.trends(pools=[SICK], lanes=_LANE),
    "why": lambda: inspect.why("n", SICK),
    "worker": lambda: inspect.worker("w1"),
    "workers": inspect.workers,
    "workflow_names": inspect.workflow_names,
    "workflow_run": lambda: inspect.workflow_run("r", SICK),
    "workflow_runs": inspect.workflow_runs,
}

OF_ONE_POOL = {
    *("aggregation", "callback_body", "chunk", "chunks", "chunks_named", "chunks_of", "fsck", "job_lane", "lane"),
    *("operation", "operation_preview", "operation_waits", "operations_of", "parts_graph", "pool", "preview_edit"),
    *("raw", "run_children", "run_facts", "runs_of_instance", "schedule", "tail", "task", "trash", "tree", "why"),
    *("effects_on_many", "workflow_run"),
}
"""Those that have no answer while the pool has none."""


def missing() -> set[str]:
    """The public questions that have no example here."""
    public = {name for name in inspect.__all__ if signatures.isfunction(getattr(inspect, name))}
    return public - QUESTIONS.keys() - WITHOUT_STORE


def refused(questions: Mapping[str, Callable[[], object]] = QUESTIONS) -> dict[str, str]:
    """The questions that are not answered now, each with its error."""
    found = {}
    for name, ask in questions.items():
        try:
            ask()
        except Exception as error:  # the test shows it
            found[name] = f"{type(error).__name__}: {error}"
    return found
