"""Pushes tasks whose promptness is measured, one at a time, to a worker that has nothing to do.

`prompt.py COUNT`: answers with one line of JSON, nanoseconds of the machine-wide monotonic clock by number: when a
waiter had its result, and from when on a postponed task might have begun.
"""

import json
import sys
from random import uniform
from time import monotonic_ns, sleep

import django

django.setup()

from bench import tasks  # noqa: E402  the apps must be ready first

DELAY = 0.1


def main() -> None:
    count = int(sys.argv[1])
    waited, due = {}, {}
    for number in range(count):
        sleep(uniform(0.008, 0.020))
        tasks.noop.push(number).result(timeout=60)
        waited[number] = monotonic_ns()
    for number in range(count, 2 * count):
        due[number] = monotonic_ns() + int(DELAY * 1e9)
        tasks.noop.postpone(DELAY, number).result(timeout=60)
    for number in range(2 * count, 3 * count):
        tasks.shaky.push(number).result(timeout=60)
    print(json.dumps({"waited": waited, "due": due}))


main()
