"""The least that a Django project needs; no database, so what is measured is QueueOps and not an ORM.

The log is that of a new project: a line for each task, here into a file."""

import os

SECRET_KEY = "benchmark"
DEBUG = False
USE_TZ = True
INSTALLED_APPS = ["queueops", "bench"]
DATABASES: dict[str, dict[str, str]] = {}
QUEUEOPS = {"URL": os.environ["BENCH_URL"], "GRACE": float(os.environ.get("BENCH_GRACE", "25"))}
