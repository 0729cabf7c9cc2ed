"""Tasks of all kinds that the tests of Sentry and of OpenTelemetry follow."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Iterator, Sequence

import sentry_sdk
import structlog

from queueops import (
    Batch,
    Cancelled,
    Chain,
    Composite,
    MapReduce,
    Retry,
    Signature,
    activity,
    current,
    task,
    wf,
    workflow,
)
from queueops import Iterator as Emitter

SOON = Retry(delay=0)
logger = logging.getLogger("observed")
SECRET = "hunter2"  # not in the lines of a frame


class Observed(Exception):
    """The error of these tasks."""


@task(name="observed.add", retries=0)
def add(one: int, two: int = 0) -> int:
    return one + two


@task(name="observed.aadd", retries=0)
async def aadd(one: int, two: int = 0) -> int:
    await asyncio.sleep(0)
    return one + two


@task(name="observed.parent", retries=0)
def parent() -> str:
    return add.push(1).id


@task(name="observed.grows", retries=0)
def grows() -> str:
    return current().add(add.s(1))[0].id


class Emits(Emitter):
    """Emits one batch of two tasks."""

    name = "observed.emits"

    def iterate(self, state: object) -> Batch | None:
        return None if state else Batch(1, [add.s(1), add.s(2)])


class Two(Chain):
    """Two parts, which a worker knows when it has run `init`."""

    name = "observed.two"

    def init(self) -> list[Signature[int] | Composite]:
        return [add.s(1), add.s(2)]


@task(name="observed.fails", retries=1, retry=SOON)
def fails(user: str, passphrase: str) -> None:
    logger.info("log in with passphrase=%s", passphrase)
    raise Observed(f"no such user; passphrase={passphrase}")


@task(name="observed.afails", retries=0)
async def afails(user: str, passphrase: str) -> None:
    await asyncio.sleep(0)
    raise Observed("async")


@task(name="observed.expects", expected=(Observed,))
def expects() -> None:
    raise Observed("as expected")


@task(name="observed.tells", retries=0)
def tells(passphrase: str) -> None:
    logger.error("no answer; passphrase=%s", passphrase, extra={"note": f"passphrase={passphrase}"})


@task(name="observed.recovers", retries=1, retry=SOON)
def recovers() -> str:
    if current().attempt == 1:
        raise Observed("at first")
    return "done"


@task(name="observed.unfit", retries=0)
def unfit() -> object:
    return object()


@task(name="observed.stops", retries=0)
def stops() -> None:
    current().cancel("not needed")


@task(name="observed.restarts", retries=0)
def restarts() -> None:
    if current().attempt == 1:
        current().restart(count_attempt=True)


@task(name="observed.waits", retries=0)
def waits() -> None:
    raise Cancelled(reason="by itself")


class Sums(MapReduce):
    """Sums chunks; a negative one fails."""

    name = "observed.sums"
    retries = 0

    def map(self, numbers: list[int]) -> Iterator[int]:
        yield from numbers

    def process(self, number: int) -> int:
        if number < 0:
            raise Observed("negative")
        return number

    def reduce(self, results: Sequence[int]) -> int:
        return sum(results)


@activity(name="observed.step", retries=0)
def step(number: int) -> int:
    if number < 0:
        raise Observed("in an activity")
    return number


@workflow(name="observed.run")
async def run(number: int) -> int:
    if number == 0:
        raise Observed(f"in the run; passphrase={SECRET}")
    return await wf.call(step, number)


@task(name="observed.crumbs", retries=0)
def crumbs(secret: str) -> None:
    sentry_sdk.add_breadcrumb(message=f"token={secret}")
    sentry_sdk.set_tag("shop", "7")
    raise Observed("with crumbs")


@task(name="observed.slow", retries=0)
def slow() -> None:
    while True:
        time.sleep(0.01)


@task(name="observed.aslow", retries=0)
async def aslow() -> None:
    await asyncio.Event().wait()


@task(name="observed.dies", retries=0)
def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@task(name="observed.logs", retries=0)
def logs() -> None:
    logger.info("by-stdlib line")
    structlog.get_logger("shop").info("by-structlog line", order=7)
