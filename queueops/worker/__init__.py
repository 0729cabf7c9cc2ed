"""Worker: processes under a supervisor, with threads in each; one round trip settles, renews and claims."""

from queueops.worker.options import WorkerOptions

__all__ = ["WorkerOptions", "run_worker"]


def run_worker(options: WorkerOptions) -> int:
    """Start a supervisor with its processes, and work until told to stop; return the exit status."""
    from django.db import connections

    from queueops.redis.broker import get_broker
    from queueops.worker.supervisor import autoreload, child_main
    from queueops.worker.supervisor.supervisor import Supervisor

    connections.close_all()  # a child must not share a connection
    changed = autoreload.ChangedFiles() if options.reload else (lambda: "")
    supervisor = Supervisor(options, child_main.main, get_broker, changed)
    status = supervisor.run()
    if supervisor.reload_wanted:
        autoreload.start_again()
    return status
