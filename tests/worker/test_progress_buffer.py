"""What running tasks tell of themselves, on its way to the store."""

from __future__ import annotations

from typing import Any

from queueops.errors import BadReply
from queueops.model.contracts import Lease
from queueops.worker.loop.progress_buffer import ProgressBuffer


def test_a_note_that_cannot_be_sent_drops_no_other() -> None:
    told: list[str] = []

    class Store:
        def note(self, pool: str, task_id: str, fence: int, **values: Any) -> str:
            if task_id == "broken":
                raise BadReply(script="note", reply=b"what?")
            told.append(task_id)
            return "OK"

    channel = ProgressBuffer(Store())  # type: ignore[arg-type]
    for name in ("a", "broken", "b"):
        channel.progress(Lease(id=name, fence=1), 1, 2)
    assert channel.send() == []
    assert told == ["a", "b"]
