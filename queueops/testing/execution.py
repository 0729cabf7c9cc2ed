"""Running one lease in the thread of a test, exactly as a worker does, but for its limits of time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

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
        return _in_loop(_arun(context, table)) if handler.is_async else execute(ThreadSlot(0, table), context)
    finally:
        table.close()


async def _arun(context: Context, table: SlotTable) -> Settlement:
    return await aexecute(AsyncSlot(0, table, asyncio.get_running_loop()), context)


def _in_loop(coroutine: Coroutine[Any, Any, Settlement]) -> Settlement:
    """In a loop of its own; in a thread of its own, where this one has a loop that runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    ended: list[Settlement] = []
    thread = threading.Thread(target=lambda: ended.append(asyncio.run(coroutine)), name="queueops-testing")
    thread.start()
    thread.join()
    return ended[0]
