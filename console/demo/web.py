"""gunicorn's settings for the demo's console."""

from __future__ import annotations

workers = 2
threads = 4
worker_class = "gthread"
timeout = 60
graceful_timeout = 3
control_socket_disable = True  # a demo leaves nothing outside of its directory
worker_tmp_dir = None
accesslog = None
errorlog = "-"
