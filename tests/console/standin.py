"""A stand-in for the engine's answers: a small system in which every text can be chosen, also by an attacker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from queueops import control, inspect
from queueops.errors import BrokerUnavailable
from queueops.inspect import (
    Above,
    Alarm,
    Attempt,
    Beside,
    Branch,
    ChunkLane,
    ErrorRow,
    Failure,
    Finding,
    LaneRow,
    LogLine,
    Moment,
    Part,
    PoolView,
    RedisHealth,
    RunningTask,
    Snapshot,
    TaskDetail,
    TaskPage,
    TaskQuery,
    TaskRow,
    Tree,
    WorkerRow,
)
from queueops.inspect import detail as task_detail
from queueops.model.contracts import Row
from queueops.model.states import table
from tests.console.standin_alerts import AlertWorld
from tests.console.standin_chunks import COUNTS, ChunkWorld
from tests.console.standin_commands import CommandWorld
from tests.console.standin_history import HistoryWorld
from tests.console.standin_jobs import JobWorld
from tests.console.standin_lane import LaneWorld
from tests.console.standin_lookup import LookUpWorld
from tests.console.standin_registry import RegistryWorld
from tests.console.standin_schedules import ScheduleWorld
from tests.console.standin_status import StatusWorld
from tests.console.standin_workflows import WorkflowWorld

QUESTIONS = (
    *("snapshot", "now_ms", "tasks", "task", "raw", "why", "tree", "parts_graph", "rows_now", "effects", "facets"),
    *("effects_on_many", "lanes", "chunk_lanes", "workers", "errors"),
)
TASK_VERBS = (
    *("retry", "reinstate", "run_now", "requeue", "cancel", "release", "delete", "discard", "restore"),
    *("postpone", "set_priority", "move", "keep"),
    *("pause_operations", "resume_operations", "stop_operations"),
)
OTHER_VERBS = (
    *("pause_lane", "resume_lane", "set_lane", "pause_pool", "resume_pool"),
    *("quiet_worker", "stop_worker", "dump_stacks"),
)


class World:
    """A system with a few tasks; `text` stands wherever a task, a worker or a person may have written something."""

    def __init__(self, text: str = "demo.task") -> None:
        self.text = text
        self.lane = "slow"
        self.now = int(time.time() * 1000)
        self.states: dict[str, str] = {"task-1": "failed", "task-2": "pending", "a/b:c": "postponed"}
        self.chunked = {"count-1": "aggregating"}
        self.calls: list[tuple[str, Any]] = []
        self.down = False
        self.broken: Exception | None = None
        self.entered: dict[str, int] = {}

    def state_of(self, id: str) -> str:
        return (self.states | self.chunked)[id]

    def row(self, id: str) -> TaskRow:
        return TaskRow(**self._facts(id), error=self.text)

    def snapshot(self, max_age_s: float = 0.0) -> Snapshot:
        self._ask()
        pool = PoolView(
            name="default",
            states={"pending": 3, "locked": 1},
            oldest_pending_ms=self.now - 1200,
            in_rate=12.5,
            out_rate=11,
            failure_rate=0.1,
            wait_p95_ms=34.0,
            run_p95_ms=420.0,
            drain_s=12.0,
            workers=2,
            chunks_pending=2394,
            chunks_active=6,
            chunks=COUNTS,
            chunk_rate=161.0,
            attempts=1000,
        )
        return Snapshot(
            version=f"v{self.now}",
            taken_ms=self.now,
            computed=False,
            states={"pending": 3, "locked": 1, "failed": 2, "succeeded": 12_345},
            flows={">pending": 12.5, "pending>locked": 11.2, "locked>succeeded": 10, "failed>pending": 0.2},
            pools=(pool,),
            lanes=tuple(self.lanes()),
            chunk_lanes=tuple(self.chunk_lanes()),
            errors=tuple(self.errors()),
            alarms=(Alarm(level="danger", text=self.text, url_hint="workers"),),
            redis=RedisHealth(
                version=self.text,
                used_memory=10**6,
                maxmemory=0,
                policy=self.text,
                aof=True,
                clients=4,
                ops=99,
                library=self.text,
                functions=False,
            ),
        )

    def now_ms(self) -> int:
        self._ask()
        return 10**15

    def tasks(self, query: TaskQuery, after: str = "", limit: int = 50) -> TaskPage:
        self._ask()
        found = [id for id, state in self.states.items() if query.state in ("", state) and query.id in ("", id)]
        found.sort(key=lambda id: -self.entered.get(id, 0))
        rows = tuple(row for row in map(self.row, found) if query.tag in ("", *row.tags))
        return TaskPage(rows=rows[:limit], next="further" if after == "" else "", total=len(found))

    def task(self, id: str, pool: str = "") -> TaskDetail | None:
        self._ask()
        if id not in self.states | self.chunked:
            return None
        failure = Failure(fingerprint="f00", type=self.text, message=self.text, traceback=self._traceback())
        return TaskDetail(
            **self._facts(id),
            args_json=f'[["{self.text}", 1], {{"key": true}}]',
            own_args_json=f'[["{self.text}", 1], {{"key": true}}]',
            result_json=self.text,
            error=failure,
            begun_ms=self.now - 900,
            ended_ms=self.now - 500,
            deadline_ms=self.now + 9000,
            fence=7,
            uid=7,
            timeout_ms=30_000,
            retry=self.text,
            parent="task-2",
            parent_pool="default",
            parent_name=self.text,
            parent_state="idle",
            number=2,
            siblings=3,
            before=Beside(id="task-2", name=self.text, state="succeeded"),
            behind=Beside(id="a/b:c", name=self.text, state="waiting"),
            root="task-2",
            trace=self.text,
            meta=self.text,
            cancel_requested=self.text,
            attempts=(
                Attempt(
                    number=1,
                    begun_ms=self.now - 900,
                    ended_ms=self.now - 500,
                    worker=self.text,
                    kind="error",
                    error=failure,
                ),
            ),
            log=(
                LogLine(t=self.now - 700, kind="log", text=self.text),
                LogLine(t=self.now - 600, kind="edit", text=f"the arguments were ({self.text})"),
            ),
            timeline=(
                Moment(t=self.now - 1000, state="", text="pushed"),
                Moment(t=self.now - 900, state="locked", text=self.text),
                Moment(t=self.now - 500, state=self.state_of(id), text=self.text),
            ),
        )

    def raw(self, id: str, pool: str = "") -> dict[str, str]:
        self._ask()
        return {self.text: self.text, "a (args)": f'[["{self.text}"],{{}}]'} if id in self.states else {}

    def why(self, id: str, pool: str = "") -> list[Finding]:
        self._ask()
        return [
            Finding(ok=False, text=self.text, value=self.text, verb="retry", target=id),
            Finding(ok=False, text="Its lane is paused.", value="paused", verb="resume_lane", target="default/slow"),
            Finding(ok=True, text="All is well.", value=self.text),
        ]

    def parts_graph(self, id: str, pool: str) -> None:
        """No picture: the parts are a list here."""
        self._ask()

    def rows_now(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], TaskRow | None]:
        self._ask()
        return dict.fromkeys(places)

    def tree(self, id: str, pool: str, *, after: str = "", show: str = "", opened: Sequence[str] = ()) -> Tree:
        self._ask()
        counts = (("failed", 2), ("pending", 1200), (self.text, 1))
        leaf = Part(
            id="task-2", pool="default", number=1, task=self.row("task-2"), begun_ms=self.now - 900, ended_ms=self.now
        )
        below = Branch(total=1203, open=7, first=12, next="13", counts=counts, rows=(leaf,))
        whole = replace(self.row("task-1"), kind="chain")
        rows = (
            replace(leaf, id="task-1", number=11, task=whole, branch=below),
            replace(leaf, id="a/b:c", number=12, task=self.row("a/b:c"), branch=Branch(open=9, next="=x")),
            Part(id=self.text, pool="default", number=13),
            replace(leaf, id="a/b:c", pool=self.text, number=14, elsewhere=True, task=self.row("a/b:c")),
        )
        above = Above(id="task-2", pool="default", name=self.text, kind=self.text, state="idle")
        root = Branch(total=1300, open=3, first=10, next="14", counts=counts, rows=rows)
        return Tree(root=root, above=(above, Above(id=self.text, pool=self.text)))

    def effects(self, verb: str, task: TaskDetail) -> tuple[str, ...]:
        return ()

    def effects_on_many(self, verb: str, tasks: dict[str, list[str]]) -> tuple[str, ...]:
        return ()

    def facets(self, query: TaskQuery) -> dict[str, list[tuple[str, int]]]:
        self._ask()
        return {
            "state": [("failed", 2), ("pending", 3)],
            "name": [(self.text, 3)],
            "pool": [("default", 5)],
            "lane": [(self.text, 1)],
            "kind": [(self.text, 5)],
            "tag": [(self.text, 1)],
        }

    def lanes(self, max_age_s: float = 0.0) -> inspect.Listing[LaneRow]:
        self._ask()
        usual = LaneRow(pool="default", lane="default", ready=3, active=1, oldest_ms=self.now - 5000)
        slow = LaneRow(pool="default", lane="slow", ready=0, active=1, limit=2, paused=True, weight=3)
        return inspect.Listing([usual, slow])

    def chunk_lanes(self, max_age_s: float = 0.0) -> list[ChunkLane]:
        self._ask()
        facts = {"ready": 2394, "active": 6, "errored": 1, "limit": 8, "closed": True, "waits": True}
        return [ChunkLane(pool="default", id="count-1", name=self.text, lane=self.text, **facts)]

    def workers(self) -> inspect.Listing[WorkerRow]:
        self._ask()
        running = (RunningTask(id="task-2", name=self.text, pool="default", since_ms=self.now - 4000),)
        return inspect.Listing(
            [
                WorkerRow(
                    id="host:1",
                    host=self.text,
                    pid=1,
                    version=self.text,
                    pools=(self.text,),
                    slots=8,
                    busy=1,
                    beat_ms=self.now - 1000,
                    started_ms=self.now - 60_000,
                    rss=50_000_000,
                    running=running,
                )
            ]
        )

    def errors(self, limit: int = 100) -> inspect.Listing[ErrorRow]:
        self._ask()
        return inspect.Listing(
            [
                ErrorRow(
                    fingerprint="f00",
                    type=self.text,
                    message=self.text,
                    name=self.text,
                    pool="default",
                    count=3,
                    failed=2,
                    first_ms=self.now - 10_000,
                    last_ms=self.now,
                    sample_id="task-1",
                )
            ]
        )

    def act(
        self, verb: str, ids: list[str], *values: Any, pool: str = "", who: str = "", token: str = "", **named: Any
    ) -> list[Row]:
        self._act(verb, (ids, values, named))
        known = [(id, self.states.get(id)) for id in ids]
        return [
            Row(id=id, word="OK", state=state or "", detail="")
            if state
            else Row(id=id, word="GONE", state="", detail="it is gone")
            for id, state in known
        ]

    def recall(self, ids: list[str], pool: str = "", *, token: str) -> list[Row]:
        self._ask()
        return [Row(id=id, word="REFUSED", state=self.states.get(id, ""), detail="it was not reached") for id in ids]

    def edit_and_retry(self, id: str, args: Any, kwargs: Any, pool: str = "", *, who: str = "", seen: str = "") -> Row:
        self._act("edit", (id, args, kwargs))
        return Row(id=id, word="OK", state="pending", detail="")

    def other(self, verb: str, *values: Any, **named: Any) -> bool:
        self._act(verb, (values, named))
        return True

    def start_over(self) -> None:
        """As it was when it was installed."""
        self.__init__(self.text)  # type: ignore[misc]
        self.install(self.patches)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer and act in the engine's place."""
        self.patches = monkeypatch
        for name in QUESTIONS:
            monkeypatch.setattr(inspect, name, getattr(self, name))
        for name in TASK_VERBS:
            monkeypatch.setattr(control, name, self._verb(self.act, name))
        for name in OTHER_VERBS:
            monkeypatch.setattr(control, name, self._verb(self.other, name))
        monkeypatch.setattr(control, "edit_and_retry", self.edit_and_retry)
        monkeypatch.setattr(control, "recall", self.recall)
        monkeypatch.setattr(task_detail, "brief", self.task)
        AlertWorld(self).install(monkeypatch)
        ChunkWorld(self).install(monkeypatch)
        LaneWorld(self).install(monkeypatch)
        LookUpWorld(self).install(monkeypatch)
        ScheduleWorld(self).install(monkeypatch)
        CommandWorld(self).install(monkeypatch)
        WorkflowWorld(self).install(monkeypatch)
        JobWorld(self).install(monkeypatch)
        StatusWorld(self).install(monkeypatch)
        RegistryWorld(self).install(monkeypatch)
        HistoryWorld(self).install(monkeypatch)

    def _verb(self, call: Any, name: str) -> Any:
        return lambda *values, **named: call(name, *values, **named)

    def _ask(self) -> None:
        if self.down:
            raise BrokerUnavailable(url="redis://user:hunter2@host/0", attempts=5, reason="connection refused")

    def _act(self, verb: str, what: Any) -> None:
        self._ask()
        self.calls.append((verb, what))
        if self.broken:
            raise self.broken

    def _facts(self, id: str) -> dict[str, Any]:
        state = self.state_of(id)
        return {
            "id": id,
            "pool": "default",
            "name": self.text,
            "kind": "mapreduce" if id in self.chunked else self.text,
            "state": state,
            "lane": self.lane,
            "priority": 0,
            "attempt": 1,
            "retries": 2,
            "crashes": 1,
            "created_ms": self.now - 1000,
            "entered_ms": self.entered.get(id, self.now - 500),
            "due_ms": self.now + 60_000 if state == "postponed" else None,
            "args": self.text,
            "worker": self.text,
            "progress": 3.0,
            "total": 10.0,
            "tags": (self.text,),
            "reason": self.text,
            "allowed": table().actions.get(state, ()),
        }

    def _traceback(self) -> str:
        return (
            "Traceback (most recent call last):\n"
            f'  File "/app/{self.text}.py", line 3, in run\n    {self.text}\n'
            '  File "/usr/lib/python3.12/json/decoder.py", line 9, in decode\n    raise\n'
            f"ValueError: {self.text}"
        )
