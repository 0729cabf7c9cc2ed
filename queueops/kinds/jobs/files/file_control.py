"""Actions on files: delete one now, or keep one that is in the deletion queue."""

from __future__ import annotations

from queueops.kinds.jobs.file_calls import ENDED, OPERATOR, QueuedFile
from queueops.kinds.jobs.files.file_list import result_of
from queueops.kinds.jobs.files.file_store import is_file_of, is_temporary
from queueops.kinds.jobs.files.orphans import id_of, without_job
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role


def delete_file(path: str, pool: str = "default", *, job: str = "") -> bool:
    """Delete a file as soon as a worker is free: one in the deletion queue, the file of a `job`, or one without a job.

    The record of the job stays, and says that its file was deleted. Returns False for any other name.
    """
    calls = get_role(JobCalls)
    if (note := calls.file_note(pool, path)) is not None:
        calls.queue_files(pool, [QueuedFile(path, note.id, note.why)])
        return True
    if is_temporary(path):
        found = without_job([path]) if id_of(path) else []
        calls.queue_files(pool, [QueuedFile(name, "", OPERATOR) for name in found])  # it is not the file of its job
        return bool(found)
    id = job or id_of(path)
    if not is_file_of(path, id):
        return False
    result, _ = calls.file_fields([(pool, id)])[pool, id]
    if result_of(result).get("path") == path:
        calls.queue_files(pool, [QueuedFile(path, id, OPERATOR)])
        return True
    if id_of(path) and without_job([path]):
        calls.queue_files(pool, [QueuedFile(path, id, ENDED)])
        return True
    return False


def keep_file(path: str, pool: str = "default") -> bool:
    """Take a file out of the deletion queue. It stays until its job ends, or as an orphan. False if it is not there."""
    return get_role(JobCalls).keep_files(pool, [path]) == 1
