"""gunicorn settings for the console: `gunicorn -c python:console.project.web console.project.wsgi`."""

from __future__ import annotations

workers = 2
limit_request_line = 8190  # the most: a long filter gets the answer of the console, with the reason
threads = 64  # the number of slow clients that a process tolerates; a thread starts when it is needed
worker_class = "console.project.slow_clients.TimedThreads"
timeout = 60
sendfile = False  # the kernel would send a file to a slow client without the time limit
accesslog = None
errorlog = "-"
