"""Inspection: questions about tasks, lanes, workers, schedules and the store, which change no task."""

from queueops.errors import FilterError
from queueops.inspect.alarms import Alarm
from queueops.inspect.answers import Broken, Listing
from queueops.inspect.chunk_edits import EditedChunk, preview_edit
from queueops.inspect.chunk_list import ChunkList, ListedChunk, all_chunks
from queueops.inspect.chunk_overview import ChunkError, ChunksView, Skew, Straggler, chunks_of
from queueops.inspect.chunk_rows import ChunkDetail, ChunkRow, chunk_verbs, stages
from queueops.inspect.chunk_strip import Strip
from queueops.inspect.chunks import ChunkPage, chunk, chunks, chunks_named
from queueops.inspect.commands import CommandPage, CommandRow, commands, dead_commands
from queueops.inspect.detail import Beside, TaskDetail, raw, task
from queueops.inspect.errors import ErrorRow, Failure, errors
from queueops.inspect.facets import facets
from queueops.inspect.fsck import fsck
from queueops.inspect.history import Attempt, LogLine, Moment
from queueops.inspect.lanes import ChunkLane, LaneRow, chunk_lanes, lanes
from queueops.inspect.query import TaskQuery
from queueops.inspect.registry import KnownTask, registry
from queueops.inspect.schedules import (
    ScheduleDetail,
    ScheduleEvent,
    ScheduleRow,
    next_runs,
    preview,
    schedulable,
    schedule,
    schedules,
    unkept_schedules,
)
from queueops.inspect.side_effects import REACHING, effects, rule
from queueops.inspect.snapshot import Snapshot, snapshot
from queueops.inspect.store import now_ms
from queueops.inspect.store_health import RedisHealth
from queueops.inspect.tail import Event, tail
from queueops.inspect.task_rows import TaskFacts, TaskRow
from queueops.inspect.tasks import TaskPage, tasks
from queueops.inspect.throughput import PoolView
from queueops.inspect.trees import Above, Branch, Part, Tree, tree
from queueops.inspect.why import why
from queueops.inspect.why.findings import Finding
from queueops.inspect.workers import RunningTask, WorkerRow, workers
from queueops.model.fsck import Fault, FsckPage

__all__ = [
    "REACHING",
    "Above",
    "Alarm",
    "Attempt",
    "Beside",
    "Branch",
    "Broken",
    "ChunkDetail",
    "ChunkError",
    "ChunkLane",
    "ChunkList",
    "ChunkPage",
    "ChunkRow",
    "ChunksView",
    "CommandPage",
    "CommandRow",
    "EditedChunk",
    "ErrorRow",
    "Event",
    "Failure",
    "Fault",
    "FilterError",
    "Finding",
    "FsckPage",
    "KnownTask",
    "LaneRow",
    "ListedChunk",
    "Listing",
    "LogLine",
    "Moment",
    "Part",
    "PoolView",
    "RedisHealth",
    "RunningTask",
    "ScheduleDetail",
    "ScheduleEvent",
    "ScheduleRow",
    "Skew",
    "Snapshot",
    "Straggler",
    "Strip",
    "TaskDetail",
    "TaskFacts",
    "TaskPage",
    "TaskQuery",
    "TaskRow",
    "Tree",
    "WorkerRow",
    "all_chunks",
    "chunk",
    "chunk_lanes",
    "chunk_verbs",
    "chunks",
    "chunks_named",
    "chunks_of",
    "commands",
    "dead_commands",
    "effects",
    "errors",
    "facets",
    "fsck",
    "lanes",
    "next_runs",
    "now_ms",
    "preview",
    "preview_edit",
    "raw",
    "registry",
    "rule",
    "schedulable",
    "schedule",
    "schedules",
    "snapshot",
    "stages",
    "tail",
    "task",
    "tasks",
    "tree",
    "unkept_schedules",
    "why",
    "workers",
]
