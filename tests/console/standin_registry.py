"""The registry of the stand-in: one task that this process knows, and one that only workers know."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import inspect
from queueops.inspect import KnownTask


class RegistryWorld:
    """Tasks in which every text is that of the world."""

    def __init__(self, world: Any) -> None:
        self.world = world

    def registry(self) -> inspect.Listing[KnownTask]:
        self.world._ask()
        text = self.world.text
        texts = {"module": text, "signature": text, "doc": text, "schedule": text}
        options, workers = {"pool": text, text: text}, (text, "host:1")
        here = KnownTask(name="demo.task", kind=text, options=options, workers=workers, unsure=1, **texts)
        return inspect.Listing([here, KnownTask(name=f"{text}!", is_here=False)])

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer in the engine's place."""
        monkeypatch.setattr(inspect, "registry", self.registry)
