"""Workflows of two versions of the code: the process that imports this has one of them, as its environment says."""

from __future__ import annotations

import os

from queueops import activity, wf, workflow
from tests.faults.ledger import note

VERSION = "QUEUEOPS_TESTS_CODE"
IS_LATER = os.environ.get(VERSION) == "later"


@activity(name="faults.write", retries=0)
def write(word: str) -> str:
    """An effect."""
    note("start")
    return word


if IS_LATER:

    @workflow(name="faults.guarded")
    async def guarded() -> list[str]:
        """The change asks first whether the run goes by it."""
        before = await wf.call(write, "checked") if wf.patched("check") else await wf.call(write, "plain")
        return [before, await wf.signal("go"), await wf.call(write, "end")]

    @workflow(name="faults.unguarded")
    async def unguarded() -> list[str]:
        """The change does not ask."""
        before = await wf.call(write, "changed")
        return [before, await wf.signal("go"), await wf.call(write, "end")]

    @workflow(name="faults.asks_at_first")
    async def asks_at_first() -> list[str]:
        """The change asks at its beginning, and does something else much later."""
        is_new = wf.patched("twice")
        await wf.signal("go")
        found = [await wf.call(write, "end")]
        await wf.signal("go")
        return [*found, await wf.call(write, "again")] if is_new else found

else:

    @workflow(name="faults.asks_at_first")
    async def asks_at_first() -> list[str]:
        """As it was."""
        await wf.signal("go")
        found = [await wf.call(write, "end")]
        await wf.signal("go")
        return found

    @workflow(name="faults.guarded")
    async def guarded() -> list[str]:
        """As it was."""
        before = await wf.call(write, "plain")
        return [before, await wf.signal("go"), await wf.call(write, "end")]

    @workflow(name="faults.unguarded")
    async def unguarded() -> list[str]:
        """As it was."""
        before = await wf.call(write, "plain")
        return [before, await wf.signal("go"), await wf.call(write, "end")]
