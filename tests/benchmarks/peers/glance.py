"""Looks at a map-reduce task as the console does, and after the pool as a watchdog does, until the task is over.

`glance.py ID`: answers with one line of JSON: the milliseconds of each look at all chunks, of each page of the console
and of each tick; and how many megabytes this process had after its first pages, and in the end.
"""

import json
import os
import sys
import time
from itertools import cycle
from pathlib import Path

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402  the apps must be ready first
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

from queueops import get, inspect  # noqa: E402
from queueops.redis.broker import get_broker  # noqa: E402

FIRST = 15
"""After so many pages all code and all templates have been used."""
PAGES = (
    "mapreduce/{id}/",
    "mapreduce/{id}/?state=all",
    "mapreduce/{id}/?state=done",
    "mapreduce/{id}/0/",
    "mapreduce/{id}/edit/?whole=done",
    "tasks/{id}/",
    "",
)


def main() -> None:
    id = sys.argv[1]
    console = signed_in()
    pages = cycle([f"/ops/{page.format(id=id)}" for page in PAGES])
    told: dict[str, list[float]] = {"looks": [], "pages": [], "ticks": []}
    before = 0.0
    while (handle := get(id)) is None or not handle.status().is_over:
        begun = time.perf_counter()
        view = inspect.chunks_of(id)
        if view is not None and view.total:
            told["looks"].append(milliseconds_since(begun))
            begun = time.perf_counter()
            answer = console.get(next(pages))
            assert answer.status_code == 200, answer.content
            told["pages"].append(milliseconds_since(begun))
        begun = time.perf_counter()
        get_broker().tick("default", 500)
        told["ticks"].append(milliseconds_since(begun))
        if len(told["pages"]) == FIRST:
            before = megabytes()
        time.sleep(0.1)
    print(json.dumps(told | {"megabytes": [before, megabytes()]}))


def signed_in() -> Client:
    """The console with a database of its own, as a user with every permission."""
    Path(os.environ["QUEUEOPS_DATA"]).mkdir(exist_ok=True, mode=0o700)
    call_command("migrate", verbosity=0)
    console = Client(SERVER_NAME="localhost")
    console.force_login(User.objects.create_superuser("benchmark"))
    return console


def milliseconds_since(begun: float) -> float:
    return 1000 * (time.perf_counter() - begun)


def megabytes() -> float:
    """What is resident of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


main()
