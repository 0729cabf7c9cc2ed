"""Small workers that are killed at random moments: `python -m tests.faults.killing KILLS SEED`.

They claim, run and settle as a worker does, each in a process of its own, which is forked in some milliseconds. As long
as they are killed, there are always some composites under way. Answers with how many were pushed.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from typing import Any

import django

from queueops.model.contracts import RoundTrip

WORKERS, TREES = 2, 16


class Channel:
    """Progress is not kept: no test reads it."""

    def progress(self, *_: Any) -> None:
        """Nothing is sent."""

    log = extend = set_deadline = progress


def main(kills: int, seed: int) -> None:
    """Push and kill; then let the last workers bring all to its end."""
    import queueops.eager.execution  # noqa: F401  what a worker needs is there when it is forked
    from queueops.redis.broker import get_broker
    from tests.faults.trees import tree

    get_broker().exchange("default", "killing", RoundTrip(want=0))
    rng, workers, handles = random.Random(seed), [], []
    open_ones: list[Any] = []
    try:
        for _ in range(kills):
            open_ones = [handle for handle in open_ones if handle.state not in ("succeeded", "failed", "cancelled")]
            while len(open_ones) < TREES:
                handles.append(tree(len(handles))[0].push())
                open_ones.append(handles[-1])
            while len(workers) < WORKERS:
                workers.append(fork(len(handles), rng.random()))
            time.sleep(rng.uniform(0, 0.11))
            end(workers.pop(rng.randrange(len(workers))))
            hurry()
        print(json.dumps({"pushed": [handle.id for handle in handles]}), flush=True)
        workers.append(fork(0, 0))
        while not select.select([sys.stdin], [], [], 0.1)[0]:  # until the one who asked has seen enough
            hurry()
    finally:
        for pid in workers:
            end(pid)
        get_broker().close()


def hurry() -> None:
    """An operator lets what was lost start at once: the pauses grow with every loss."""
    from queueops.redis.broker import get_broker

    broker = get_broker()
    lost = broker.client.zrange(broker.keys("default").state("restart"), 0, 49)
    if lost:
        broker.control("default", "run_now", [task_id.decode() for task_id in lost])


def end(pid: int) -> None:
    """Without a word."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def fork(number: int, chance: float) -> int:
    """A worker of a name of its own."""
    hears, tells = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            work(f"w{number}.{chance}", tells)
        finally:
            os._exit(1)
    os.close(tells)
    os.read(hears, 1)  # it has claimed, however slow the machine is
    os.close(hears)
    return pid


def work(name: str, tells: int) -> None:
    """Claim, run, settle with the next claim."""
    from queueops.eager.execution import run
    from queueops.redis.broker import get_broker

    broker = get_broker()  # a new one: a fork has forgotten its parent's
    settled: list[Any] = []
    while True:
        leases = broker.exchange("default", name, RoundTrip(want=3, settle=settled)).leases
        if tells:
            os.close(tells)  # the listener reads the end of the file
            tells = 0
        settled = [run(lease, Channel()) for lease in leases]
        if not leases:
            time.sleep(0.003)


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]), int(sys.argv[2]))
