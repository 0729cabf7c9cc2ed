"""gunicorn's settings for the console: `gunicorn -c python:console.project.web console.project.wsgi`."""

from __future__ import annotations

workers = 2
threads = 64  # so many slow clients each process bears; a thread is started when it is needed
worker_class = "console.project.slow_clients.TimedThreads"
timeout = 60
sendfile = False  # the kernel would send a file to a slow client without the limit of time
accesslog = None
errorlog = "-"
