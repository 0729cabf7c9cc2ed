"""Settings of gunicorn for the demo: those of the stand-alone project, with a short grace time."""

from __future__ import annotations

from console.project.web import (
    accesslog,
    errorlog,
    limit_request_line,
    sendfile,
    threads,
    timeout,
    worker_class,
    workers,
)

__all__ = [
    "accesslog",
    "errorlog",
    "limit_request_line",
    "sendfile",
    "threads",
    "timeout",
    "worker_class",
    "workers",
]

graceful_timeout = 3
control_socket_disable = True  # a demo leaves nothing outside of its directory
worker_tmp_dir = None
