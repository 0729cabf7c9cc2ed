"""Calls that the code of a workflow must not make, by their full name, and what to use instead."""

from __future__ import annotations

import os

from django.core.cache import cache, caches
from django.db import connection, connections

NOW = "use wf.now(): a replay must see the same time"
RANDOM = "use wf.random() or wf.uuid4(): a replay must see the same values"
WAIT = "use await wf.sleep(...)"
ACTIVITY = "do it in an activity, and await wf.call(...)"
CALL = "use await wf.call(...), or wf.child(...) for a workflow"
AWAIT = "the workflow has a loop of its own: use await"
HANDLE = "use wf.send_signal(...), or do it in an activity"
ORDER = "its value differs between processes: use a value that is the same in each"

EXACT: dict[str, str] = {
    **dict.fromkeys(
        (
            *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.ctime"),
            *("time.perf_counter_ns", "time.process_time", "time.localtime", "time.gmtime", "time.strftime"),
            *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
            *("django.utils.timezone.now", "django.utils.timezone.localtime", "django.utils.timezone.localdate"),
        ),
        NOW,
    ),
    "time.sleep": WAIT,
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "os.urandom", "os.getrandom"), RANDOM),
    **dict.fromkeys(
        (
            *(
                "builtins.open",
                "io.open",
                "_io.open",
                "builtins.input",
                "os.getenv",
                "os.getpid",
                "os.listdir",
                "os.scandir",
            ),
            *("os.walk", "os.open", "os.remove", "os.rename", "os.replace", "os.mkdir", "os.makedirs", "os.unlink"),
            *("os.stat", "os.system", "os.popen", "genericpath.exists", "genericpath.isfile", "genericpath.isdir"),
            *("os.environ.get", "urllib.request.urlopen", "urllib.request.urlretrieve"),
            *("asyncio.to_thread", "asyncio.open_connection", "asyncio.open_unix_connection", "asyncio.start_server"),
            *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "asyncio.streams.open_connection"),
            *("asyncio.threads.to_thread", "asyncio.streams.start_server", "asyncio.subprocess.create_subprocess_exec"),
            *("asyncio.subprocess.create_subprocess_shell", "asgiref.sync.sync_to_async", "asgiref.sync.SyncToAsync"),
            *("django.shortcuts.get_object_or_404", "django.shortcuts.get_list_or_404", "os.cpu_count"),
            *("django.shortcuts.aget_object_or_404", "django.shortcuts.aget_list_or_404"),
        ),
        ACTIVITY,
    ),
    **dict.fromkeys(("asyncio.run", "asyncio.runners.run", "asgiref.sync.async_to_sync"), AWAIT),
    **dict.fromkeys(("builtins.hash", "builtins.id"), ORDER),
}
"""What one name is refused for."""

OF_FILES = frozenset(
    (
        *("open", "read_text", "read_bytes", "write_text", "write_bytes", "exists", "is_file", "is_dir", "stat"),
        *("iterdir", "glob", "rglob", "mkdir", "rmdir", "touch", "unlink", "rename", "replace", "resolve"),
    )
)
"""Methods of a path of pathlib that ask the file system, or change it."""

PATHS_OF_PATHS = frozenset(
    ("parent", "with_suffix", "with_name", "with_stem", "joinpath", "relative_to", "cwd", "home")
)
"""What a path of pathlib gives that is a path again."""

MODULES: dict[str, str] = {
    **dict.fromkeys(("random", "secrets"), RANDOM),
    **dict.fromkeys(
        (
            *("socket", "ssl", "subprocess", "threading", "multiprocessing", "concurrent.futures", "http.client"),
            *("smtplib", "ftplib", "shutil", "tempfile", "sqlite3", "requests", "httpx", "aiohttp", "urllib3", "redis"),
            *("psycopg", "psycopg2", "django.core.mail", "django.core.cache", "django.db.transaction"),
            *("django.db.connection", "django.db.connections", "django.core.files", "boto3", "botocore"),
        ),
        ACTIVITY,
    ),
    **dict.fromkeys(
        (
            *("queueops.get", "queueops.aget", "queueops.results.handle", "queueops.control", "queueops.inspect"),
            *("queueops.kinds.workflows.control", "queueops.kinds.workflows.inspect"),
        ),
        HANDLE,
    ),
}
"""What everything in a module is refused for."""


def advice_for(name: str) -> str:
    """What to use in the place of a call; empty if it is allowed."""
    if name in EXACT:
        return EXACT[name]
    return next((advice for module, advice in MODULES.items() if name == module or name.startswith(f"{module}.")), "")


def name_of_object(value: object) -> str:
    """The full name of an object of a module that is no function, class or module; empty if it is not known here."""
    return next((name for name, known in _OBJECTS.items() if known is value), "")


_OBJECTS: dict[str, object] = {
    "os.environ": os.environ,
    "django.db.connection": connection,
    "django.db.connections": connections,
    "django.core.cache.cache": cache,
    "django.core.cache.caches": caches,
}
"""Objects that code imports by name: they do not tell where they are from."""
