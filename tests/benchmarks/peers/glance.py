"""Looks at a map-reduce task as the console does, and after the pool as a watchdog does, until the task is over.

`glance.py ID`: answers with one line of JSON: the milliseconds of each look at all chunks, and of each tick.
"""

import json
import sys
import time

import django

django.setup()

from queueops import get, inspect  # noqa: E402  the apps must be ready first
from queueops.redis.broker import get_broker  # noqa: E402


def main() -> None:
    id = sys.argv[1]
    looks, ticks = [], []
    while (handle := get(id)) is None or not handle.status().is_over:
        begun = time.perf_counter()
        view = inspect.chunks_of(id)
        if view is not None and view.total:
            looks.append(1000 * (time.perf_counter() - begun))
        begun = time.perf_counter()
        get_broker().tick("default", 500)
        ticks.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.1)
    print(json.dumps({"looks": looks, "ticks": ticks}))


main()
