"""Async stages of map-reduce tasks and an async iterator, each of which can be told to wait for ever."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from django.dispatch import receiver

from queueops import Batch, Iterator, MapReduce, Results, TaskHandle, composite_cancelled, composite_succeeded
from tests.faults.ledger import note, write


async def wait_for_ever() -> None:
    """Until it is interrupted."""
    note("start")
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        note("stopped")
        raise


@receiver([composite_succeeded, composite_cancelled])
def note_composite(handle: TaskHandle[Any], state: str, **_: object) -> None:
    """Which process told of the end of a composite."""
    write(f"{handle.id} 0 {os.getpid()} composite-{state}\n")


class StagesLater(MapReduce):
    """Waits in the stage that it is told."""

    retries = 0

    async def map(self, stage: str) -> AsyncIterator[str]:
        """One chunk: the stage."""
        if stage == "map":
            await wait_for_ever()
        yield stage

    async def process(self, chunk: str) -> str:
        """The stage again."""
        if chunk == "process":
            await wait_for_ever()
        return chunk

    async def reduce(self, results: Results) -> list[str]:
        """All of them."""
        found = [result async for result in results]
        if found == ["reduce"]:
            await wait_for_ever()
        return found


class StepsLater(Iterator):
    """Waits in its first step."""

    retries = 0

    async def iterate(self, state: None, stage: str) -> Batch | None:
        """Nothing comes."""
        await wait_for_ever()
        return None
