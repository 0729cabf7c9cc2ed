"""The producer of every Python system: `produce.py MODULE VERB TASK COUNT BUDGET_SECONDS`, a verb of `main`.

It answers with one line of JSON. MODULE offers `push(task, number)` and, if its system has a bulk call,
`push_many(task, numbers)`; the tasks are `noop` and `nap`. `known` needs `run(task, number)`, which waits.
"""

import importlib
import json
import random
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic_ns, perf_counter, sleep
from types import ModuleType
from typing import Any

WARM_UP = 20  # pushes that open connections and load scripts; they are part of the count, not of the time
RATES = (200, 1000)
LONG = "x" * 200


def push(system: ModuleType, task: str, count: int, budget: float) -> dict[str, Any]:
    """Push one at a time until `count` are queued or the budget is spent."""
    for number in range(min(WARM_UP, count)):
        system.push(task, number)
    begun, spent, pushed = perf_counter(), 0.0, min(WARM_UP, count)
    while pushed < count and spent < budget:
        system.push(task, pushed)
        pushed += 1
        spent = perf_counter() - begun
    return {"pushed": pushed, "rate": (pushed - WARM_UP) / spent if spent else 0.0}


def push_many(system: ModuleType, task: str, count: int, budget: float) -> dict[str, Any]:
    """Push all in one call."""
    system.push(task, 0)
    begun = perf_counter()
    system.push_many(task, range(1, count))
    return {"pushed": count, "rate": (count - 1) / (perf_counter() - begun)}


def push_long(system: ModuleType, task: str, count: int, budget: float) -> dict[str, Any]:
    """Push one at a time, each with an argument of 200 bytes. No worker runs these."""
    begun, pushed = perf_counter(), 0
    push_text = getattr(system, "push_text", system.push)  # of a system that checks the types of arguments
    while pushed < count and perf_counter() - begun < budget:
        push_text(task, LONG)
        pushed += 1
    return {"pushed": pushed}


def latency(system: ModuleType, task: str, count: int, budget: float) -> dict[str, Any]:
    """Push one at a time to a worker that has nothing to do; tell when each push began."""
    begun = []
    for number in range(count):
        sleep(random.uniform(0.008, 0.020))
        begun.append(monotonic_ns())
        system.push(task, number)
    return {"pushed": count, "begun": begun}


def paced(system: ModuleType, task: str, count: int, budget: float, rate: int) -> dict[str, Any]:
    """Push one at a time, `rate` a second; a late push does not make those after it late."""
    begun = perf_counter()
    for number in range(count):
        sleep(max(0.0, begun + number / rate - perf_counter()))
        system.push(task, number)
    return {"pushed": count}


def alone(system: ModuleType, task: str, count: int, budget: float) -> dict[str, Any]:
    """The same with half a second between two, for what takes longer."""
    begun = []
    for number in range(count):
        sleep(random.uniform(0.4, 0.6))
        begun.append(monotonic_ns())
        system.push(task, number)
    return {"pushed": count, "begun": begun}


def known(system: ModuleType, task: str, count: int, budget: float) -> dict[str, Any]:
    """Push one after the other, each when the result of the one before is known: at once, then after half a second.

    Milliseconds from before the push until the result is known.
    """

    def once(number: int) -> float:
        begun = perf_counter()
        system.run(task, number)
        return 1000 * (perf_counter() - begun)

    for number in range(WARM_UP):
        once(number)
    at_once, rested = [once(number) for number in range(count)], []
    for number in range(count):
        sleep(random.uniform(0.4, 0.6))
        rested.append(once(number))
    return {"pushed": 2 * count + WARM_UP, "at_once": at_once, "rested": rested}


def main() -> None:
    module, verb, task, count, budget = sys.argv[1:]
    verbs: dict[str, Callable[..., dict[str, Any]]] = {
        "push": push,
        "push_many": push_many,
        "push_long": push_long,
        "latency": latency,
        "alone": alone,
        "known": known,
    }
    verbs |= {f"paced_{rate}": partial(paced, rate=rate) for rate in RATES}
    print(json.dumps(verbs[verb](importlib.import_module(module), task, int(count), float(budget))))


if __name__ == "__main__":
    main()
