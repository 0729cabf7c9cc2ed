"""Workflows of the stand-in: one run, which waits and is blocked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from queueops import control, inspect
from queueops.inspect import RunCall, RunLine, RunView

if TYPE_CHECKING:
    from tests.console.standin import World


class WorkflowWorld:
    """Answers for `inspect.workflow_run`; what is done is taken down by the world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def workflow_run(self, id: str, pool: str = "default", *, first: int = 0) -> RunView:
        self.world._ask()
        line = RunLine(
            number=1,
            kind=self.world.text,
            at_ms=self.world.now,
            name=self.world.text,
            task=self.world.text,
            text=self.world.text,
        )
        call = RunCall(number=1, kind=self.world.text, task="task-2", name=self.world.text, state="pending", attempt=1)
        return RunView(
            instance=self.world.text,
            status=self.world.text,
            where=(self.world.text,),
            blocked_ms=self.world.now,
            blocked_times=1,
            reason=self.world.text,
            calls=(call,),
            inbox=(line,),
            waiting_events=1,
            length=2,
            lines=(line,),
        )

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("signal_runs", "cancel_runs", "suspend_runs", "resume_runs"):
            monkeypatch.setattr(control, name, partial(self.world.act, name), raising=False)
        monkeypatch.setattr(inspect, "workflow_run", self.workflow_run, raising=False)
