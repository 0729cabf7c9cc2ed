"""Workflows of the stand-in: one run, which waits and is blocked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from queueops import control, inspect
from queueops.inspect import RunCall, RunChildren, RunFacts, RunLine, RunPage, RunSpan, RunView
from queueops.inspect.errors import Failure
from queueops.model.contracts import Row

if TYPE_CHECKING:
    from tests.console.standin import World


OF_RUNS = ("run_children", "run_facts")


class WorkflowWorld:
    """Answers for `inspect.workflow_run`; what is done is taken down by the world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def workflow_run(self, id: str, pool: str = "default", **_page: object) -> RunView:
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
            where=(f"signal {self.world.text}",),
            stacks=((self.world.text, self.world.text),),
            parent="task-2",
            parent_pool="default",
            next_calls="7.0",
            blocked_ms=self.world.now,
            blocked_times=1,
            reason=self.world.text,
            calls=(call,),
            inbox=(line,),
            waiting_events=1,
            length=2,
            lines=(line, RunLine(number=2, kind="failed", failure=self._failure())),
            spans=(RunSpan(number=1, kind=self.world.text, name=self.world.text, task="task-2", begun_ms=1),),
            before="task-2",
        )

    def _failure(self) -> Failure:
        text = self.world.text
        return Failure(fingerprint=text, type=text, message=text, traceback=text)

    def _facts(self) -> RunFacts:
        world = self.world
        return RunFacts(
            id="task-1",
            pool="default",
            instance=world.text,
            name=world.text,
            state="postponed",
            created_ms=world.now,
            entered_ms=world.now,
            status=world.text,
            reason=world.text,
            blocked_ms=world.now,
            waits_for=(world.text,),
        )

    def run_children(self, id: str, pool: str = "default", *, first: int = 0) -> RunChildren:
        self.world._ask()
        return RunChildren(rows=(self._facts(),), next=7, looked_at=7, length=9)

    def run_facts(self, id: str, pool: str) -> RunFacts:
        self.world._ask()
        return self._facts()

    def workflow_runs(self, *filters: str, instance: str = "", **more: str | int) -> RunPage:
        self.world._ask()
        if not self._facts().instance.startswith(instance.removesuffix("*")):
            return RunPage(rows=())
        return RunPage(rows=(self._facts(),), total=1, next="more")

    def run_counts(self, pool: str = "") -> dict[str, int]:
        self.world._ask()
        return {"blocked": 1, "suspended": 0, "continued": 0}

    def runs_of_instance(self, instance: str, pool: str) -> tuple[RunFacts, ...]:
        self.world._ask()
        return (self._facts(),)

    def reset_run(self, id: str, entry: int, reason: str = "", pool: str = "", **how: str) -> Row:
        (row,) = self.world.act("reset_run", [id], pool=pool, **how)
        return row

    def start_run(self, name: str, *args: Any, instance: str = "") -> Row:
        self.world._act("start_run", (name,))
        return Row("task-1", "OK", "pending", instance)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("signal_runs", "cancel_runs", "suspend_runs", "resume_runs", "retry_runs"):
            monkeypatch.setattr(control, name, partial(self.world.act, name), raising=False)
        for name in ("reset_run", "start_run"):
            monkeypatch.setattr(control, name, getattr(self, name), raising=False)
        for name in (
            "workflow_run",
            "workflow_runs",
            "run_counts",
            "runs_of_instance",
            *OF_RUNS,
        ):
            monkeypatch.setattr(inspect, name, getattr(self, name), raising=False)
