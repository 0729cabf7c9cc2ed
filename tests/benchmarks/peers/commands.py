"""Chains through pools: `commands.py COUNT`; times in one, in two, in two others, in two behind a backlog.

It answers with one line of JSON: milliseconds. The backlog is 10,000 commands whose target is gone.
"""

import json
import sys
from time import perf_counter, sleep

import django

django.setup()

from bench import tasks  # noqa: E402  the apps must be ready first

from queueops import chain  # noqa: E402
from queueops.redis.broker import get_broker  # noqa: E402

STEPS, GONE, BEHIND, BACKLOGS = 10, 10_000, 20, 3


def run(*pools: str, steps: int = STEPS, home: str = "") -> float:
    """A chain in `home`, or the first of the pools that its steps go round; milliseconds from push to result."""
    step = [tasks.noop.using(pool=pools[number % len(pools)]).si(number) for number in range(steps)]
    begun = perf_counter()
    chain(*step).using(pool=home or pools[0]).push().result(60)
    return 1000 * (perf_counter() - begun)


def fill() -> None:
    """Ten thousand commands that are due, each for a task that is gone."""
    broker = get_broker()
    keys, now = broker.keys("default"), int(broker.client.time()[0]) * 1000
    with broker.client.pipeline(transaction=False) as pipe:
        for number in range(GONE):
            fields = {"v": "activate", "to": "north", "i": f"x{number}", "me": "g", "u": 1, "rn": 0, "t": now, "vn": 1}
            pipe.hset(keys.command(f"gone{number}"), mapping=fields)
            pipe.zadd(keys.commands, {f"gone{number}": now - GONE + number})
        pipe.zadd(keys.agenda, {"~commands:": now})
        pipe.execute()


def drained() -> bool:
    """Whether all of them have been brought."""
    broker = get_broker()
    return not broker.client.exists(broker.keys("default").commands, broker.keys("default").commands_locked)


def behind() -> list[float]:
    """Chains of two steps, pushed one after the other while a backlog is brought."""
    fill()
    spent = [run("default", "north", steps=2) for _ in range(BEHIND)]
    while not drained():
        sleep(0.01)
    return spent


def main() -> None:
    count = int(sys.argv[1])
    for pools in (("default",), ("default", "north"), ("south",)):
        run(*pools)
    print(
        json.dumps(
            {
                "one": [run("default") for _ in range(count)],
                "two": [run("default", "north") for _ in range(count)],
                "others": [run("north", "south", home="default") for _ in range(count)],
                "short": [run("default", "north", steps=2) for _ in range(count)],
                "behind": [spent for _ in range(BACKLOGS) for spent in behind()],
            }
        )
    )


main()
