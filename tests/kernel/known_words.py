"""What Python files of the kernel still name of kinds. A list that only becomes shorter."""

FACADES = ("__init__.py", "control/__init__.py", "inspect/__init__.py", "jobs.py", "model/kinds.py")
"""Lists of public names, for type checkers, the rows of the kinds, and a kind's public names, which are above it."""
IMPORTING = ("management/queue/options.py", "tasks/class_based.py", "tasks/task.py")
"""Files that import a module of a kind: the command line, and public methods, for type checkers, that give a part."""
KNOWN: dict[str, str] = {
    "apps.py": "composite_signals",
    "inspect/alarms.py": "ChunkState",
    "inspect/detail.py": "iterator mapreduce",
    "inspect/estimates.py": "_chunks chunks",
    "inspect/lanes.py": "ChunkLane MOST_CHUNK_LANES chunk_lanes chunk_rows chunks",
    "inspect/redaction.py": "mapreduce",
    "inspect/registry.py": "chunk_retries chunk_retry chunk_timeout chunks_per_worker on_chunk_failure",
    "inspect/snapshot.py": "ChunkLane chunk_lanes chunk_rows chunks",
    "inspect/throughput.py": "ChunkState _chunks chunk_moves chunk_rate chunks chunks_active chunks_pending",
    "logs.py": "outbox",
    "management/queue/chunks.py": (
        "CHUNK ChunkAnswer ChunkRow _chunks all_chunks chunk chunks chunks_of drop_chunks edit_chunk "
        "edit_chunks list_chunks mapreduce postpone_chunks release_chunks retry_chunks skip_chunks"
    ),
    "management/queue/edit.py": "chunks",
    "management/queue/fsck.py": "chunks",
    "management/queue/options.py": (
        "CHUNKS CHUNK_STATES OUTBOX _chunk_options _outbox_options chunk chunks edit_chunk edit_chunks "
        "list_chunks outbox"
    ),
    "management/queue/task_view.py": "CHUNKS chunks_pending",
    "model/contracts.py": "ChunkAnswer ChunkRow",
    "model/records.py": (
        "chunk_retries chunk_retry chunk_timeout chunks chunks_dropped chunks_per_worker chunks_redone_by "
        "chunks_to_redo has_chunks longest_chunk longest_chunk_ms on_chunk_failure"
    ),
    "model/states.py": (
        "CHUNK_ACTIONS CHUNK_CLASSES CHUNK_STATES CHUNK_TRANSITIONS ChunkState Chunks chain chunks_allowing "
        "group mapreduce"
    ),
    "model/weights.py": "chunk iterator mapreduce",
    "redis/broker/exchange.py": "ChunkState",
    "redis/broker/fsck.py": "CHUNK",
    "redis/broker/storage.py": "chunk",
    "redis/keys.py": "chunk chunks",
    "redis/library.py": "CHUNK_ACTIONS CHUNK_ALLOWED ChunkState _chunk_verbs chunks_allowing",
    "redis/wrong_types.py": "ChunkState",
    "results/handle.py": "MAPREDUCE chunk_counts chunked mapreduce",
    "results/status.py": "chunks",
    "signals.py": "OF_COMPOSITES composite_cancelled composite_failed composite_succeeded",
    "tasks/by_name.py": "iterator mapreduce",
    "tasks/class_based.py": "chunks composites",
    "tasks/declared_schedules.py": "MapReduce",
    "tasks/decorator.py": "MapReduce",
    "tasks/foreign_names.py": "chunks",
    "tasks/task.py": "composites",
    "watchdog/watchdog.py": "_outbox",
    "worker/execution/composite_signals.py": "OF_COMPOSITES",
    "worker/execution/settlements.py": "BadChunks CHUNK TooManyChunks chunk composites",
    "worker/loop/lease_dispatcher.py": "_outbox outbox",
    "worker/loop/main_loop.py": "_outbox composite_signals",
    "worker/loop/metrics_buffer.py": "chunk",
    "worker/loop/pool_client.py": "chunk",
}
"""By file, its words in order."""
