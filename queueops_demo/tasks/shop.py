"""Workflows: orders that wait for a person and are undone, a parcel each as a child, and a stocktaking without end."""

from __future__ import annotations

import asyncio
import random
import time

from queueops import Retry, activity, wf, workflow
from queueops.errors import TaskFailed

LARGE_ORDER = 500
"""From this price on, a person approves the order."""
APPROVAL_S = 600.0
ROUNDS, ROUND_S = 10, 20.0
"""Rounds of a stocktaking before it continues as new, and the seconds between two."""


class NotApproved(Exception):
    """A person has refused an order."""


class CardDeclined(Exception):
    """A payment was refused."""


@activity(name="demo.reserve", retries=1, tags=["shop"])
def reserve(order: str, article: str) -> str:
    """Take an article from the stock."""
    time.sleep(0.1)
    return f"{article} for {order}"


@activity(name="demo.release", tags=["shop"])
def release(order: str) -> str:
    """Undo `reserve`."""
    return f"{order} is back in the stock"


@activity(name="demo.charge", retries=2, retry=Retry(delay=2, backoff=2), tags=["shop"])
def charge(order: str, euros: int) -> str:
    """Charge a card. The bank often needs a second attempt; it declines a price that ends with 13."""
    time.sleep(0.2)
    if euros % 100 == 13:
        raise CardDeclined(f"{euros} EUR for {order}")
    if random.random() < 0.2:
        raise ConnectionError("the bank does not answer")
    return f"{euros} EUR for {order}"


@activity(name="demo.refund", tags=["shop"])
def refund(order: str) -> str:
    """Undo `charge`."""
    return f"{order} is paid back"


@activity(name="demo.print_label", tags=["shop"])
def print_label(order: str, parcel: int) -> str:
    """Print the label of a parcel."""
    time.sleep(0.1)
    return f"{order}-{parcel}"


@activity(name="demo.count_stock", tags=["shop"])
def count_stock() -> int:
    """Count the stock."""
    return random.randint(80, 120)


@workflow(name="demo.ship_parcel", tags=["shop"])
async def ship_parcel(order: str, parcel: int) -> str:
    """Label a parcel, and wait until it has arrived."""
    label = await wf.call(print_label, order, parcel)
    await wf.sleep(wf.random().randint(5, 20))
    return label


@workflow(name="demo.order_saga", unique="order-{order}", tags=["shop"])
async def order_saga(order: str, article: str, euros: int, parcels: int) -> str:
    """An order: reserve, ask a person if it is large, charge, and ship. What was done is undone if a part fails."""
    if not article:
        raise ValueError(f"the order {order} names no article")
    undo = []
    try:
        wf.set_status("reserves the article")
        await wf.call(reserve, order, article)
        undo.append(release)
        if euros >= LARGE_ORDER:
            await _approval(order)
        wf.set_status("charges the card")
        await wf.call(charge, order, euros)
        undo.append(refund)
        wf.set_status(f"ships {parcels} parcels")
        labels = await asyncio.gather(*(wf.child(ship_parcel, order, number + 1) for number in range(parcels)))
    except (TaskFailed, NotApproved, TimeoutError, asyncio.CancelledError) as error:
        wf.set_status("undoes what was done")
        for compensation in reversed(undo):
            await wf.call(compensation, order)
        wf.set_status("undone")
        return f"undone: {type(error).__name__} {error}".strip()
    wf.set_status("shipped")
    return ", ".join(labels)


async def _approval(order: str) -> None:
    wf.set_status('waits for a person: send the signal "approve" with true or false')
    async with asyncio.timeout(APPROVAL_S):
        approved = await wf.signal("approve")
    if approved is not True:
        raise NotApproved(order)


@workflow(name="demo.stocktaking", tags=["shop"])
async def stocktaking(total: int, rounds: int) -> None:
    """Counts the stock again and again, and continues as new after some rounds, so that its history stays short."""
    for _ in range(ROUNDS):
        total += await wf.call(count_stock)
        rounds += 1
        wf.set_status({"rounds": rounds, "average": round(total / rounds, 1)})
        await wf.sleep(ROUND_S)
    wf.continue_as_new(total, rounds)


@workflow(name="demo.impatient", tags=["shop"])
async def impatient() -> str:
    """Does what a workflow must not do: it uses a thread. The run is blocked, and the console says why."""
    return await asyncio.to_thread(time.ctime)  # checkworkflows: ignore
