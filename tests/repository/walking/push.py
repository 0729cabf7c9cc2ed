"""Pushes one task after the other and waits for each result: `push.py SYSTEM`. Opens the window of `sitecustomize`.

Prints its process id.
"""

import importlib
import mmap
import os
import sys
import time

WARM, WALKS = 3, 5
REST_S = 0.05
"""Seconds until the worker rests after a result; they belong to the walk. It rests for longer before the next one."""

RUN = {
    "queueops": lambda system, number: system.tasks.noop.push(number).result(30),
    "huey": lambda system, number: system.noop(number)(blocking=True, timeout=30),
    "rq": lambda system, number: system.queue.enqueue("marks.noop", number).latest_result(timeout=30),
    "dramatiq": lambda system, number: system.noop.send(number).get_result(block=True, timeout=30_000),
}


def main(name: str) -> None:
    """Push tasks of this system."""
    system = importlib.import_module(f"{name}_app")
    window = mmap.mmap(os.open(os.environ["WALK_WINDOW"], os.O_RDWR), 1)
    for number in range(WARM + WALKS):
        time.sleep(6 * REST_S)
        window[0] = max(0, number + 1 - WARM)
        RUN[name](system, number)
        time.sleep(REST_S)
        window[0] = 0
    print(os.getpid())


if __name__ == "__main__":
    main(sys.argv[1])
