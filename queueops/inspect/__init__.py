"""Inspection: questions about tasks, lanes, workers, schedules and the store, which change no task."""

from typing import TYPE_CHECKING, Any

from queueops.errors import FilterError
from queueops.inspect.alarm import Alarm
from queueops.inspect.alarms import bound_of
from queueops.inspect.answers import Broken, Listing
from queueops.inspect.counting import Count, counts
from queueops.inspect.dead_follow_ups import DeadFollowUp, dead_follow_ups
from queueops.inspect.detail import Beside, TaskDetail, raw, task
from queueops.inspect.errors import ErrorRow, Failure, errors
from queueops.inspect.facets import facets
from queueops.inspect.follow_ups import FollowUp, FollowUpTask
from queueops.inspect.fsck import fsck
from queueops.inspect.history.moment import Past, PastRow, past
from queueops.inspect.history.ranges import RANGES
from queueops.inspect.history.series import Point, Series, series
from queueops.inspect.history.trends import (
    OverviewHistory,
    Trend,
    Trends,
    lane_trends,
    name_trends,
    overview_history,
    trends,
)
from queueops.inspect.hits import LookUp, NamedHit, OtherHits
from queueops.inspect.id_search import FoundIds, tasks_with_prefix
from queueops.inspect.lane_labels import know_lanes, lane_label
from queueops.inspect.lane_view import LaneView, lane
from queueops.inspect.lanes import LanePage, LaneRow, lane_page, lanes
from queueops.inspect.loads import NameLoad, PoolLoad, load
from queueops.inspect.lookup import look_up
from queueops.inspect.marks import HistoryMark
from queueops.inspect.other_ids import other_ids
from queueops.inspect.outbox import OutboxFigures, OutboxPage, WaitingPush, outbox, outbox_figures, outbox_in_use
from queueops.inspect.pool_messages import CommandPage, CommandRow, commands, dead_commands
from queueops.inspect.pool_view import PoolDetail, pool, trash
from queueops.inspect.push_parameters import PushParameter, push_parameters, push_pool
from queueops.inspect.query import TaskQuery, parse_filter
from queueops.inspect.registry import KnownTask, is_own_name, registry
from queueops.inspect.schedules import (
    Backfill,
    ScheduleDetail,
    ScheduleEvent,
    ScheduleRow,
    backfill,
    in_words,
    next_runs,
    preview,
    schedulable,
    schedule,
    schedules,
    unkept_schedules,
)
from queueops.inspect.snapshot import Snapshot, snapshot
from queueops.inspect.status import Status, status, status_of
from queueops.inspect.store import now_ms, reach_store
from queueops.inspect.store_health import RedisHealth
from queueops.inspect.tail import Event, tail
from queueops.inspect.task_history import Attempt, LogLine, Moment
from queueops.inspect.task_name import NameKey, NamePause, NameRun, NameView, task_name
from queueops.inspect.task_rows import TaskFacts, TaskRow
from queueops.inspect.tasks import SearchStep, TaskList, TaskPage, browse, matches, rows_now, search, tasks
from queueops.inspect.throughput import PoolView
from queueops.inspect.unseen import unseen
from queueops.inspect.why import why
from queueops.inspect.why.findings import Finding
from queueops.inspect.worker_view import Stacks, WorkerRun, WorkerView, worker
from queueops.inspect.workers import RunningTask, WorkerRow, workers
from queueops.model import kinds
from queueops.model.fsck import Fault, FsckPage

if TYPE_CHECKING:  # names of the kinds' own modules, imported when they are first used
    from queueops.kinds.composites.inspect.graph import GraphNode as GraphNode
    from queueops.kinds.composites.inspect.graph import parts_graph as parts_graph
    from queueops.kinds.composites.inspect.side_effects import REACHING as REACHING
    from queueops.kinds.composites.inspect.side_effects import effects as effects
    from queueops.kinds.composites.inspect.side_effects import effects_on_many as effects_on_many
    from queueops.kinds.composites.inspect.side_effects import rule as rule
    from queueops.kinds.composites.inspect.trees import Above as Above
    from queueops.kinds.composites.inspect.trees import Branch as Branch
    from queueops.kinds.composites.inspect.trees import Part as Part
    from queueops.kinds.composites.inspect.trees import Tree as Tree
    from queueops.kinds.composites.inspect.trees import tree as tree
    from queueops.kinds.jobs.inspect import CALLBACK_STATES as CALLBACK_STATES
    from queueops.kinds.jobs.inspect import ApiToken as ApiToken
    from queueops.kinds.jobs.inspect import CallbackPage as CallbackPage
    from queueops.kinds.jobs.inspect import CallbackRow as CallbackRow
    from queueops.kinds.jobs.inspect import Circuit as Circuit
    from queueops.kinds.jobs.inspect import FullDisk as FullDisk
    from queueops.kinds.jobs.inspect import JobLane as JobLane
    from queueops.kinds.jobs.inspect import JobLanePage as JobLanePage
    from queueops.kinds.jobs.inspect import JobOutcome as JobOutcome
    from queueops.kinds.jobs.inspect import JobPage as JobPage
    from queueops.kinds.jobs.inspect import JobRow as JobRow
    from queueops.kinds.jobs.inspect import JobStory as JobStory
    from queueops.kinds.jobs.inspect import Maintenance as Maintenance
    from queueops.kinds.jobs.inspect import OrphanFiles as OrphanFiles
    from queueops.kinds.jobs.inspect import QueuedFilePage as QueuedFilePage
    from queueops.kinds.jobs.inspect import QueuedFileRow as QueuedFileRow
    from queueops.kinds.jobs.inspect import StoredFile as StoredFile
    from queueops.kinds.jobs.inspect import StoredFilePage as StoredFilePage
    from queueops.kinds.jobs.inspect import aggregation as aggregation
    from queueops.kinds.jobs.inspect import aggregations as aggregations
    from queueops.kinds.jobs.inspect import api_tokens as api_tokens
    from queueops.kinds.jobs.inspect import callback_body as callback_body
    from queueops.kinds.jobs.inspect import callback_query as callback_query
    from queueops.kinds.jobs.inspect import callbacks as callbacks
    from queueops.kinds.jobs.inspect import destination as destination
    from queueops.kinds.jobs.inspect import destinations as destinations
    from queueops.kinds.jobs.inspect import file_deletions as file_deletions
    from queueops.kinds.jobs.inspect import full_disks as full_disks
    from queueops.kinds.jobs.inspect import job_counts as job_counts
    from queueops.kinds.jobs.inspect import job_lane as job_lane
    from queueops.kinds.jobs.inspect import job_story as job_story
    from queueops.kinds.jobs.inspect import jobs as jobs
    from queueops.kinds.jobs.inspect import maintenance as maintenance
    from queueops.kinds.jobs.inspect import orphan_files as orphan_files
    from queueops.kinds.jobs.inspect import stored_files as stored_files
    from queueops.kinds.jobs.inspect import uses_jobs as uses_jobs
    from queueops.kinds.mapreduce.inspect.edits import EditedChunk as EditedChunk
    from queueops.kinds.mapreduce.inspect.edits import preview_edit as preview_edit
    from queueops.kinds.mapreduce.inspect.figures import ChunkLane as ChunkLane
    from queueops.kinds.mapreduce.inspect.figures import chunk_lanes as chunk_lanes
    from queueops.kinds.mapreduce.inspect.listing import ChunkList as ChunkList
    from queueops.kinds.mapreduce.inspect.listing import ListedChunk as ListedChunk
    from queueops.kinds.mapreduce.inspect.listing import all_chunks as all_chunks
    from queueops.kinds.mapreduce.inspect.overview import ChunkError as ChunkError
    from queueops.kinds.mapreduce.inspect.overview import ChunksView as ChunksView
    from queueops.kinds.mapreduce.inspect.overview import Skew as Skew
    from queueops.kinds.mapreduce.inspect.overview import Straggler as Straggler
    from queueops.kinds.mapreduce.inspect.overview import chunks_of as chunks_of
    from queueops.kinds.mapreduce.inspect.pages import ChunkPage as ChunkPage
    from queueops.kinds.mapreduce.inspect.pages import chunk as chunk
    from queueops.kinds.mapreduce.inspect.pages import chunks as chunks
    from queueops.kinds.mapreduce.inspect.pages import chunks_named as chunks_named
    from queueops.kinds.mapreduce.inspect.rows import ChunkDetail as ChunkDetail
    from queueops.kinds.mapreduce.inspect.rows import ChunkRow as ChunkRow
    from queueops.kinds.mapreduce.inspect.rows import chunk_verbs as chunk_verbs
    from queueops.kinds.mapreduce.inspect.rows import stages as stages
    from queueops.kinds.mapreduce.inspect.strip import Strip as Strip
    from queueops.kinds.operations.inspect import Operation as Operation
    from queueops.kinds.operations.inspect import OperationPreview as OperationPreview
    from queueops.kinds.operations.inspect import OperationWait as OperationWait
    from queueops.kinds.operations.inspect import PartsOf as PartsOf
    from queueops.kinds.operations.inspect import operation as operation
    from queueops.kinds.operations.inspect import operation_preview as operation_preview
    from queueops.kinds.operations.inspect import operation_waits as operation_waits
    from queueops.kinds.operations.inspect import operations as operations
    from queueops.kinds.operations.inspect import operations_of as operations_of
    from queueops.kinds.operations.inspect import pools_without_workers as pools_without_workers
    from queueops.kinds.workflows.inspect import RunCall as RunCall
    from queueops.kinds.workflows.inspect import RunChildren as RunChildren
    from queueops.kinds.workflows.inspect import RunFacts as RunFacts
    from queueops.kinds.workflows.inspect import RunLine as RunLine
    from queueops.kinds.workflows.inspect import RunPage as RunPage
    from queueops.kinds.workflows.inspect import RunSpan as RunSpan
    from queueops.kinds.workflows.inspect import RunView as RunView
    from queueops.kinds.workflows.inspect import blocked_run_count as blocked_run_count
    from queueops.kinds.workflows.inspect import run_children as run_children
    from queueops.kinds.workflows.inspect import run_count as run_count
    from queueops.kinds.workflows.inspect import run_counts as run_counts
    from queueops.kinds.workflows.inspect import run_facts as run_facts
    from queueops.kinds.workflows.inspect import run_query as run_query
    from queueops.kinds.workflows.inspect import runs_of_instance as runs_of_instance
    from queueops.kinds.workflows.inspect import workflow_names as workflow_names
    from queueops.kinds.workflows.inspect import workflow_run as workflow_run
    from queueops.kinds.workflows.inspect import workflow_runs as workflow_runs

__all__ = [
    "CALLBACK_STATES",
    "RANGES",
    "REACHING",
    "Above",
    "Alarm",
    "ApiToken",
    "Attempt",
    "Backfill",
    "Beside",
    "Branch",
    "Broken",
    "CallbackPage",
    "CallbackRow",
    "ChunkDetail",
    "ChunkError",
    "ChunkLane",
    "ChunkList",
    "ChunkPage",
    "ChunkRow",
    "ChunksView",
    "CommandPage",
    "CommandRow",
    "Count",
    "DeadFollowUp",
    "EditedChunk",
    "ErrorRow",
    "Event",
    "Failure",
    "Fault",
    "FilterError",
    "Finding",
    "FollowUp",
    "FollowUpTask",
    "FoundIds",
    "FsckPage",
    "GraphNode",
    "HistoryMark",
    "JobLane",
    "JobLanePage",
    "JobOutcome",
    "JobPage",
    "JobRow",
    "JobStory",
    "KnownTask",
    "LanePage",
    "LaneRow",
    "LaneView",
    "ListedChunk",
    "Listing",
    "LogLine",
    "LookUp",
    "Moment",
    "NameKey",
    "NameLoad",
    "NamePause",
    "NameRun",
    "NameView",
    "NamedHit",
    "Operation",
    "OperationPreview",
    "OperationWait",
    "OrphanFiles",
    "OtherHits",
    "OutboxFigures",
    "OutboxPage",
    "OverviewHistory",
    "Part",
    "PartsOf",
    "Past",
    "PastRow",
    "Point",
    "PoolDetail",
    "PoolLoad",
    "PoolView",
    "PushParameter",
    "QueuedFilePage",
    "QueuedFileRow",
    "RedisHealth",
    "RunCall",
    "RunChildren",
    "RunFacts",
    "RunLine",
    "RunPage",
    "RunSpan",
    "RunView",
    "RunningTask",
    "ScheduleDetail",
    "ScheduleEvent",
    "ScheduleRow",
    "SearchStep",
    "Series",
    "Skew",
    "Snapshot",
    "Stacks",
    "Status",
    "StoredFile",
    "StoredFilePage",
    "Straggler",
    "Strip",
    "TaskDetail",
    "TaskFacts",
    "TaskList",
    "TaskPage",
    "TaskQuery",
    "TaskRow",
    "Tree",
    "Trend",
    "Trends",
    "WaitingPush",
    "WorkerRow",
    "WorkerRun",
    "WorkerView",
    "aggregation",
    "aggregations",
    "all_chunks",
    "api_tokens",
    "backfill",
    "blocked_run_count",
    "bound_of",
    "browse",
    "callback_body",
    "callback_query",
    "callbacks",
    "chunk",
    "chunk_lanes",
    "chunk_verbs",
    "chunks",
    "chunks_named",
    "chunks_of",
    "commands",
    "counts",
    "dead_commands",
    "dead_follow_ups",
    "destinations",
    "effects",
    "effects_on_many",
    "errors",
    "facets",
    "file_deletions",
    "fsck",
    "in_words",
    "is_own_name",
    "job_lane",
    "job_story",
    "jobs",
    "know_lanes",
    "lane",
    "lane_label",
    "lane_page",
    "lane_trends",
    "lanes",
    "load",
    "look_up",
    "matches",
    "name_trends",
    "next_runs",
    "now_ms",
    "operation",
    "operation_preview",
    "operation_waits",
    "operations",
    "operations_of",
    "orphan_files",
    "other_ids",
    "outbox",
    "outbox_figures",
    "outbox_in_use",
    "overview_history",
    "parse_filter",
    "parts_graph",
    "past",
    "pool",
    "pools_without_workers",
    "preview",
    "preview_edit",
    "push_parameters",
    "push_pool",
    "raw",
    "reach_store",
    "registry",
    "rows_now",
    "rule",
    "run_children",
    "run_count",
    "run_counts",
    "run_facts",
    "run_query",
    "runs_of_instance",
    "schedulable",
    "schedule",
    "schedules",
    "search",
    "series",
    "snapshot",
    "stages",
    "status",
    "status_of",
    "stored_files",
    "tail",
    "task",
    "task_name",
    "tasks",
    "tasks_with_prefix",
    "trash",
    "tree",
    "trends",
    "unkept_schedules",
    "unseen",
    "why",
    "worker",
    "workers",
    "workflow_names",
    "workflow_run",
    "workflow_runs",
]


if not TYPE_CHECKING:  # a type checker sees the names above

    def __getattr__(name: str) -> Any:
        return kinds.public_name("inspect", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
