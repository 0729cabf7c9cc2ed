"""The registry of the stand-in: one task that this process knows, and one that only workers know."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from queueops import control, inspect
from queueops.inspect import KnownTask, NameKey, NamePause, NameRun, NameView, PushParameter
from queueops.model.contracts import Row


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
        monkeypatch.setattr(inspect, "task_name", self.task_name)
        monkeypatch.setattr(inspect, "push_parameters", self.push_parameters)
        monkeypatch.setattr(inspect, "push_pool", lambda name: "default")
        monkeypatch.setattr(control, "push_task", self.push)
        for verb in ("pause_name", "resume_name"):
            monkeypatch.setattr(control, verb, partial(self.change, verb))

    def change(self, verb: str, name: str, pool: str, **named: bool) -> dict[str, bool]:
        """Pause or resume a name."""
        self.world._act(verb, ((name, pool), named))
        return {"default": False}

    def push_parameters(self, name: str) -> tuple[PushParameter, ...]:
        """A parameter of each sort."""
        text = self.world.text
        told = {"annotation": text, "default": text}
        of_each = [PushParameter(name=f"{sort}s", sort=sort, **told) for sort in ("more", "rest")]
        return (PushParameter(name="order", **told), PushParameter(name="mode", choices=("1", "true")), *of_each)

    def push(self, name: str, *call: Any, **options: Any) -> Row:
        """Push a task."""
        self.world._act("push_task", ((name, *call), options))
        return Row("task-1", "OK", "pending", "default")

    def task_name(self, name: str, max_age_s: float = 0.0) -> NameView | None:
        """The known task; a run of each state, one of which goes on."""
        known = self.registry()[0]
        if name != known.name:
            return None
        text, now = self.world.text, self.world.now
        run = {"pool": "default", "lane": text, "attempt": 1, "begun_ms": now - 90_000}
        ends = (("succeeded", now - 80_000), ("failed", now - 89_000), ("locked", None), (text, now))
        return NameView(
            name=name,
            now_ms=now,
            states={"pending": 3, "failed": 2, text: 1},
            pools=("default",),
            in_rate=1.5,
            out_rate=1.2,
            ended=40,
            failed=10,
            wait_p50_ms=12.0,
            wait_p95_ms=340.0,
            run_p50_ms=900.0,
            run_p95_ms=4000.0,
            lanes=(("default", text, 3),),
            runs=tuple(
                NameRun(id=f"task-{n}", state=state, ended_ms=end, **run) for n, (state, end) in enumerate(ends)
            ),
            errors=tuple(self.world.errors()),
            paused=(NamePause(pool=text, since_ms=now - 5000, held=2),),
            keys=(
                NameKey(pool="default", key=text, waiting=7, running=1, ready=0, next="task-1"),
                NameKey(pool="default", key=f"2 {text}", waiting=2, running=1, ready=0, next="task-1", parts=500),
            ),
            all_keys=2,
            oldest_ms=now - 7000,
            known=known,
        )
