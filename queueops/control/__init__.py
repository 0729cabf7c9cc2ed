"""Control: an operator's actions, one function for each. Every row gets an answer; a refusal has its reason.

`ids` are at most 500 a call. Without `pool`, the pool of each id is looked up. `who` goes into the task's own log.
Calls with one `token` are one action: only one of them changes a task, and each answers OK for it. If an answer was
lost, `recall` returns what the action did.
"""

from typing import TYPE_CHECKING, Any

from queueops.control.edit import edit_and_retry
from queueops.control.errors import mute_error
from queueops.control.lanes import pause_lane, pause_pool, resume_lane, resume_pool, set_lane
from queueops.control.lost_answers import recall
from queueops.control.names import pause_name, resume_name
from queueops.control.outbox import drop_outbox, retry_outbox
from queueops.control.per_pool_calls import MOST
from queueops.control.pool_messages import drop_commands, drop_dead_commands, requeue_commands, requeue_dead_commands
from queueops.control.pools import EmptiedTrash, PoolInUse, empty_trash, flush, repair
from queueops.control.push import push_task
from queueops.control.reencryption import NoKeys, reencrypt, reencrypt_tables
from queueops.control.schedules import (
    Backfilled,
    backfill_schedule,
    check_schedule,
    create_schedule,
    delete_schedule,
    pause_schedule,
    resume_schedule,
    run_schedule,
    update_schedule,
)
from queueops.control.tasks import (
    cancel,
    delete,
    discard,
    keep,
    move,
    postpone,
    reinstate,
    release,
    requeue,
    restore,
    retry,
    run_now,
    set_priority,
)
from queueops.control.workers import dump_stacks, quiet_worker, stop_worker
from queueops.errors import TooMany
from queueops.model import kinds
from queueops.model.contracts import Row

if TYPE_CHECKING:  # names of the kinds' own modules, imported when they are first used
    from queueops.kinds.jobs.control import NewApiToken as NewApiToken
    from queueops.kinds.jobs.control import accept_jobs as accept_jobs
    from queueops.kinds.jobs.control import close_circuit as close_circuit
    from queueops.kinds.jobs.control import create_api_token as create_api_token
    from queueops.kinds.jobs.control import delete_aggregation as delete_aggregation
    from queueops.kinds.jobs.control import delete_file as delete_file
    from queueops.kinds.jobs.control import discard_callbacks as discard_callbacks
    from queueops.kinds.jobs.control import drain_aggregation as drain_aggregation
    from queueops.kinds.jobs.control import keep_file as keep_file
    from queueops.kinds.jobs.control import pause_aggregation as pause_aggregation
    from queueops.kinds.jobs.control import redeliver_callbacks as redeliver_callbacks
    from queueops.kinds.jobs.control import redirect_callbacks as redirect_callbacks
    from queueops.kinds.jobs.control import resume_aggregation as resume_aggregation
    from queueops.kinds.jobs.control import revoke_api_token as revoke_api_token
    from queueops.kinds.jobs.control import send_test_callback as send_test_callback
    from queueops.kinds.jobs.control import set_aggregation as set_aggregation
    from queueops.kinds.jobs.control import set_proxy as set_proxy
    from queueops.kinds.jobs.control import start_maintenance as start_maintenance
    from queueops.kinds.jobs.control import stop_maintenance as stop_maintenance
    from queueops.kinds.mapreduce.contracts import ChunkAnswer as ChunkAnswer
    from queueops.kinds.mapreduce.control import drop_chunks as drop_chunks
    from queueops.kinds.mapreduce.control import edit_chunk as edit_chunk
    from queueops.kinds.mapreduce.control import edit_chunks as edit_chunks
    from queueops.kinds.mapreduce.control import postpone_chunks as postpone_chunks
    from queueops.kinds.mapreduce.control import reasons as reasons
    from queueops.kinds.mapreduce.control import release_chunks as release_chunks
    from queueops.kinds.mapreduce.control import restart_from as restart_from
    from queueops.kinds.mapreduce.control import retry_chunks as retry_chunks
    from queueops.kinds.mapreduce.control import set_fields as set_fields
    from queueops.kinds.mapreduce.control import skip_chunks as skip_chunks
    from queueops.kinds.mapreduce.control import speculate as speculate
    from queueops.kinds.operations.control import begin_operation as begin_operation
    from queueops.kinds.operations.control import pause_operations as pause_operations
    from queueops.kinds.operations.control import resume_operations as resume_operations
    from queueops.kinds.operations.control import stop_operations as stop_operations
    from queueops.kinds.operations.control import undo_operation as undo_operation
    from queueops.kinds.workflows.control import cancel_runs as cancel_runs
    from queueops.kinds.workflows.control import reset_run as reset_run
    from queueops.kinds.workflows.control import resume_runs as resume_runs
    from queueops.kinds.workflows.control import retry_runs as retry_runs
    from queueops.kinds.workflows.control import signal_runs as signal_runs
    from queueops.kinds.workflows.control import start_run as start_run
    from queueops.kinds.workflows.control import suspend_runs as suspend_runs

__all__ = [
    "MOST",
    "Backfilled",
    "ChunkAnswer",
    "EmptiedTrash",
    "NewApiToken",
    "NoKeys",
    "PoolInUse",
    "Row",
    "TooMany",
    "backfill_schedule",
    "begin_operation",
    "cancel",
    "cancel_runs",
    "check_schedule",
    "create_api_token",
    "create_schedule",
    "delete",
    "delete_file",
    "delete_schedule",
    "discard",
    "discard_callbacks",
    "drop_chunks",
    "drop_commands",
    "drop_dead_commands",
    "drop_outbox",
    "dump_stacks",
    "edit_and_retry",
    "edit_chunk",
    "edit_chunks",
    "empty_trash",
    "flush",
    "keep",
    "keep_file",
    "move",
    "mute_error",
    "pause_aggregation",
    "pause_lane",
    "pause_name",
    "pause_operations",
    "pause_pool",
    "pause_schedule",
    "postpone",
    "postpone_chunks",
    "push_task",
    "quiet_worker",
    "reasons",
    "recall",
    "redeliver_callbacks",
    "reencrypt",
    "reencrypt_tables",
    "reinstate",
    "release",
    "release_chunks",
    "repair",
    "requeue",
    "requeue_commands",
    "requeue_dead_commands",
    "reset_run",
    "restart_from",
    "restore",
    "resume_aggregation",
    "resume_lane",
    "resume_name",
    "resume_operations",
    "resume_pool",
    "resume_runs",
    "resume_schedule",
    "retry",
    "retry_chunks",
    "retry_outbox",
    "retry_runs",
    "revoke_api_token",
    "run_now",
    "run_schedule",
    "set_aggregation",
    "set_fields",
    "set_lane",
    "set_priority",
    "signal_runs",
    "skip_chunks",
    "speculate",
    "start_run",
    "stop_operations",
    "stop_worker",
    "suspend_runs",
    "undo_operation",
    "update_schedule",
]


if not TYPE_CHECKING:  # a type checker sees the names above

    def __getattr__(name: str) -> Any:
        return kinds.public_name("control", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
