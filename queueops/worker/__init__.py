"""The worker: processes under a supervisor, threads in each, one round trip to settle, renew and claim."""

from queueops.worker.options import WorkerOptions

__all__ = ["WorkerOptions", "run_worker"]


def run_worker(options: WorkerOptions) -> int:
    """Start a supervisor with its processes and work until told to stop; answers the exit status."""
    from django.db import connections

    from queueops.redis.broker import get_broker
    from queueops.worker.loop import child_main
    from queueops.worker.supervisor import autoreload
    from queueops.worker.supervisor.supervisor import Supervisor

    connections.close_all()  # a connection must not be shared with a child
    changed = autoreload.ChangedFiles() if options.reload else (lambda: "")
    supervisor = Supervisor(options, child_main.main, get_broker, changed)
    status = supervisor.run()
    if supervisor.reload_wanted:
        autoreload.start_again()
    return status
