"""Details of a map-reduce task: its first map, and where a retry continues it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from queueops.inspect.detail import TaskDetail
from queueops.inspect.kind_details import KindDetails
from queueops.kinds.mapreduce.states import AGGREGATING
from queueops.model.sentences import marked
from queueops.model.states import TERMINAL
from queueops.redis.query_replies import Detail, maybe_whole


class MapReduceDetails(KindDetails):
    """Its first map, where a retry continues it, and what an edit of its arguments deletes."""

    entered: ClassVar[Mapping[str, str]] = {
        "mapped": AGGREGATING,
        "gathered": "pending",
        "restart from map": "pending",
        "restart from process": AGGREGATING,
        "restart from reduce": "pending",
    }

    stored: ClassVar[Sequence[str]] = (
        marked("chunk %(number)s failed: %(reason)s"),
        marked("chunk %(number)s failed"),
        marked("dropped by %(who)s"),
        marked("skipped by %(who)s"),
        marked("its lease ended without a word from worker %(worker)s"),
        marked("its task is %(state)s"),
        marked("all chunks have ended"),
        marked("%(number)s chunks"),
        marked("%(number)s chunks keep their data: it has no fields, or would be too long"),
        marked("its reduce runs again"),
        marked("a chunk is lost: restart it from its map"),
        marked("its failed chunks run again"),
        marked("it is %(state)s, and its map has not begun yet"),
        marked("it is %(state)s, and has no chunks"),
        marked("it is %(state)s"),
        marked("not all of its chunks are there any more: restart it from its map"),
        marked("it is not a map-reduce task"),
    )

    def of_task(self, detail: Detail, record: Mapping[str, str], state: str) -> dict[str, Any]:
        """When its first map began, and the stage at which a retry continues."""
        return {"first_begun_ms": maybe_whole(record.get("bm")), "goes_on_at": goes_on_at(record, state)}

    def lost_by_edit(self, task: TaskDetail) -> str:
        """Its chunks, once it has some."""
        if task.goes_on_at not in ("process", "reduce"):
            return ""
        return f"With other arguments {task.id} runs the map again. Throw its chunks and their results away?"


DETAILS = MapReduceDetails()


def goes_on_at(record: Mapping[str, str], state: str) -> str:
    """The stage at which a retry continues an ended map-reduce task: `map`, `process` or `reduce`; empty for others."""
    if record.get("k") != "mapreduce" or state not in TERMINAL:
        return ""
    if "ch" not in record or "cn" not in record:
        return "map"
    return "reduce" if record.get("ph") else "process"
