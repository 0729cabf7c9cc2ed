"""Tasks that fail, each in its own way: for the errors page and for retries."""

from __future__ import annotations

import os
import signal
import time

from queueops import Retry, current, task

STOCK = {"teapot": 3, "kettle": 1, "cup": 12}
QUICKLY = Retry(delay=3, backoff=2, max_delay=20)


class OutOfStock(Exception):
    """There is less in stock than was ordered."""


@task(name="demo.share_out", retries=1, retry=QUICKLY, tags=["failing"])
def share_out(coins: int, people: int) -> float:
    """Raise ZeroDivisionError when there are no people."""
    return coins / people


@task(name="demo.look_up_price", retries=0, tags=["failing"])
def look_up_price(article: str) -> int:
    """A KeyError for an article that is not on the list; no retry, because a retry would not help."""
    prices = {name: 10 * count for name, count in STOCK.items()}
    return prices[article]


@task(name="demo.order", retries=1, retry=QUICKLY, retry_on=(OutOfStock,), tags=["failing"])
def order(article: str, count: int, customer: str) -> int:
    """Raise OutOfStock if the stock is too small; cancel the task if the customer is missing."""
    if not customer:
        current().cancel("the customer has changed their mind")
    if count > STOCK[article]:
        raise OutOfStock(f"{count} of {article} were ordered, but there are {STOCK[article]}")
    return STOCK[article] - count


@task(name="demo.wait_for_an_answer", timeout=2, retries=1, retry=QUICKLY, tags=["failing"])
def wait_for_an_answer(question: str) -> str:
    """Wait for an answer that never comes, until the time limit of two seconds ends the task."""
    current().log(f"asked: {question}")
    while True:
        time.sleep(0.05)


@task(name="demo.kill_own_worker", tags=["failing"])
def kill_own_worker(times: int = 1) -> str:
    """Kill the worker process, as the kernel's out-of-memory killer does; then succeed in the next process.

    With `times` at the limit of crashes or above, the task fails: a task cannot kill workers for ever.
    """
    crashes = current().lease.crashes
    if crashes < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"alive, after {crashes} lost workers"
