"""Running one lease in the thread of a test, exactly as a worker does, but for its limits of time."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from functools import partial

from asgiref.sync import async_to_sync

from queueops import registry
from queueops.context import Channel, Context
from queueops.contracts import Lease, Settlement
from queueops.worker import hygiene, outcome
from queueops.worker.execution import aexecute, execute
from queueops.worker.slot import AsyncSlot, ThreadSlot
from queueops.worker.slots import SlotTable


def run(lease: Lease, channel: Channel) -> Settlement:
    """Run the task of a lease, and say how it ended."""
    handler = registry.find(lease.kind, lease.name)
    if handler is None:
        return outcome.unknown(lease)
    hygiene.leave_alone()
    context = Context(lease, handler, channel)
    table = SlotTable(1)
    try:
        return _in_loop(context, table) if handler.is_async else execute(ThreadSlot(0, table), context)
    finally:
        table.close()


async def _arun(context: Context, table: SlotTable) -> Settlement:
    return await aexecute(AsyncSlot(0, table, asyncio.get_running_loop()), context)


def _in_loop(context: Context, table: SlotTable) -> Settlement:
    """In a loop of its own, whose sync parts, such as queries, come back to this thread and its transaction.

    Where this thread has a loop that runs already, in a thread of its own, with all its parts.
    """
    run_there = partial(async_to_sync(_arun), context, table)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return copy_context().run(run_there)  # or what the task sets would be set in the test
    ended: list[Settlement] = []
    thread = threading.Thread(target=lambda: ended.append(asyncio.run(_arun(context, table))), name="queueops-testing")
    thread.start()
    thread.join()
    return ended[0]
