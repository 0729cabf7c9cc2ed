"""What Python files of the kernel still name of kinds, and why. Lists that only become shorter."""

FACADES = ("__init__.py", "control/__init__.py", "inspect/__init__.py", "jobs.py", "model/kind_rows.py")
"""Lists of public names, for type checkers, the rows of the kinds, and a kind's public names, which are above it."""
IMPORTING: dict[str, str] = {
    "tasks/class_based.py": "Schedule composites schedule schedules",
    "tasks/decorator.py": "FollowUpOutcome Schedule follow_up follow_ups schedule schedules",
    "tasks/options.py": "FollowUpOutcome follow_up follow_ups",
    "tasks/task.py": "composites",
}
"""Files that import types of a kind for type checkers alone: types of public options and methods."""
KNOWN: dict[str, str] = {}
"""By file, its words in order: what is left to move into the folders of kinds. The list is empty, and stays so."""
PUBLIC: dict[str, str] = {
    "inspect/detail.py": "follow_ups follow_ups_dead",
    "inspect/registry.py": "schedule",
    "inspect/snapshot.py": "chunk_lanes",
    "inspect/throughput.py": "chunk_rate chunks chunks_active chunks_pending",
    "results/status.py": "chunks",
}
"""Attributes of answers, which projects read. They keep their names; the kind brings their values."""
FOREIGN: dict[str, str] = {
    "tasks/foreign_names.py": "chunks follow_up job_id job_timeout schedule",  # of others, and instead of these
    "tasks/transactions.py": "django_tasks",  # the package of that name
}
"""Words that mean no kind."""
NO_FIELDS: dict[str, str] = {
    "redis/wire.py": "vn",  # of a command
    "results/types.py": "it",  # of a sentence
    "tasks/encoding.py": "it",  # of a sentence
    "tasks/middleware.py": "it",  # of a sentence
}
"""Texts that are also names of fields of kinds in the store."""
