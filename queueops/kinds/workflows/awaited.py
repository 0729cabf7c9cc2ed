"""Value of a call: of a coroutine or a generator, what it gives. Activities of the test environment are run so."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any


def awaited(value: Any) -> Any:
    """The value of a coroutine or a generator."""
    if inspect.isgenerator(value):
        return list(value)
    if not inspect.iscoroutine(value):
        return value
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((True, asyncio.run(value)))
        except Exception as error:  # the code of an activity runs here
            outcome.extend((False, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if outcome[0]:
        return outcome[1]
    raise outcome[1]
