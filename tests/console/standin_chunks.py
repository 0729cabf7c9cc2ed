"""A stand-in for what the engine answers about chunks; every text in it can be chosen, also by an attacker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import asdict

from queueops import control, inspect
from queueops.control import ChunkAnswer, Row
from queueops.inspect import (
    Attempt,
    ChunkDetail,
    ChunkError,
    ChunkList,
    ChunkPage,
    ChunkRow,
    ChunksView,
    EditedChunk,
    Failure,
    ListedChunk,
    LogLine,
    Skew,
    Straggler,
    Strip,
)
from queueops.kinds.mapreduce.inspect import overview

if TYPE_CHECKING:
    from tests.console.standin import World

CHUNKED = "count-1"
COUNTS = {"pending": 1, "active": 1, "errored": 1, "done": 6, "failed": 1}


class ChunkWorld:
    """The chunks of the task CHUNKED of a world."""

    def __init__(self, world: World) -> None:
        self.world, self.text, self.now = world, world.text, world.now
        self.failure = Failure(fingerprint="f00", type=self.text, message=self.text, traceback=world._traceback())

    def chunks_of(self, id: str, pool: str = "", **part: int) -> ChunksView | None:
        self.world._ask()
        columns = [(0, 0, 0, 1, 0)] * 6 + [(0, 0, 0, 0, 1), (0, 0, 1, 0, 0), (0, 1, 0, 0, 0), (1, 0, 0, 0, 0)]
        return ChunksView(
            id=id,
            pool="default",
            name=self.text,
            state="aggregating",
            phase="",
            now_ms=self.now,
            counts=COUNTS,
            total=10,
            per_second=2.5,
            left_s=1.2,
            pace=(1, 0, 2, 3),
            pace_from_ms=self.now - 4000,
            pace_to_ms=self.now,
            next_due_ms=self.now + 9000,
            max_parallel=4,
            key=self.text,
            key_limit=3,
            key_rate="10/m",
            retries=2,
            tolerated=3,
            let_go=1,
            moving=False,
            stragglers=(
                Straggler(number=8, begun_ms=self.now - 800, worker=self.text, attempt=0, crashes=1),
            ),
            skew=Skew(sampled=6, p50_ms=10, p95_ms=30, max_ms=40, slowest=3),
            errors=(ChunkError(failure=self.failure, failed=1, errored=1, number=6),),
            looked=2,
            strip=Strip(first=0, end=10, width=1, columns=tuple(columns), attempts=(0,) * 6 + (3, 1, 0, 0)),
        )  # fmt: skip

    def row(self, number: int, state: str = "failed") -> ChunkRow:
        return ChunkRow(
            number=number,
            state=state,
            attempt=3,
            crashes=1,
            begun_ms=self.now - 900,
            ended_ms=self.now - 500,
            worker=self.text,
            reason=self.text,
            dropped=True,
            error=self.failure,
            data_size=12,
            result_size=3,
            data=self.text,
        )

    def chunks(self, id: str, pool: str = "", *, state: str = "", after: str = "", **_: Any) -> ChunkPage | None:
        self.world._ask()
        rows = (self.row(6), self.row(7, state or "errored"), self.row(9, "gone?"))
        return ChunkPage(rows=rows, next="" if after else "further", total=3)

    def all_chunks(self, state: str = "errored", pool: str = "", *, after: str = "", **_: Any) -> ChunkList:
        self.world._ask()
        row = ListedChunk(pool="default", id="count-1", name=self.text, **asdict(self.row(6, state)))
        return ChunkList(rows=(row,), next="" if after else "further")

    def chunks_named(self, id: str, numbers: Any, pool: str = "") -> tuple[ChunkRow, ...]:
        self.world._ask()
        return tuple(self.row(number) for number in numbers)

    def chunk(self, id: str, number: int, pool: str = "") -> ChunkDetail | None:
        self.world._ask()
        if number >= 10:
            return None
        attempt = Attempt(
            number=1,
            begun_ms=self.now - 900,
            ended_ms=self.now - 500,
            worker=self.text,
            kind="error",
            error=self.failure,
        )
        return ChunkDetail(
            number=number,
            state="failed",
            attempt=3,
            crashes=1,
            worker=self.text,
            reason=self.text,
            error=self.failure,
            data_size=12,
            result_size=3,
            task_id=id,
            pool="default",
            name=self.text,
            task_state="aggregating",
            retries=2,
            timeout_ms=30_000,
            deadline_ms=self.now + 9000,
            data_json=f'{{"path": "{self.text}"}}',
            result_json=self.text,
            attempts=(attempt,),
            log=(
                LogLine(t=self.now - 700, kind="log", text=self.text),
                LogLine(t=self.now - 600, kind="edit", text=f"the arguments were ({self.text})"),
            ),
            allowed=("retry", "postpone", "edit", "drop", "release", "speculate"),
        )

    def preview_edit(self, id: str, states: Any, pool: str = "", **_: Any) -> tuple[EditedChunk, ...]:
        self.world._ask()
        return (
            EditedChunk(number=6, state="failed", before=self.text, after=self.text),
            EditedChunk(number=7, state="errored", before=self.text, after=""),
        )

    def restart(self, id: str, stage: str, *, every: bool = False, pool: str = "", who: str = "") -> Row:
        self.world._act("restart_from", (id, stage, every))
        return Row(id=id, word="OK", state="aggregating", detail="")

    def _verb(self, name: str) -> Any:
        def act(id: str, *values: Any, pool: str = "", who: str = "", **named: Any) -> ChunkAnswer:
            self.world._act(name, (id, values, named))
            return ChunkAnswer(changed=1, left=0, state="aggregating", refused={})

        return act

    def counts_of(self, id: str, pool: str = "") -> tuple[str, dict[str, int]]:
        self.world._ask()
        return "default", COUNTS

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(overview, "counts_of", self.counts_of)
        """Answer and act in the engine's place."""
        for name in ("chunks_of", "chunks", "all_chunks", "chunks_named", "chunk", "preview_edit"):
            monkeypatch.setattr(inspect, name, getattr(self, name))
        for verb in ("retry", "postpone", "drop", "skip", "release"):
            monkeypatch.setattr(control, f"{verb}_chunks", self._verb(verb))
        monkeypatch.setattr(control, "speculate", self._verb("speculate"))
        for verb in ("edit_chunk", "edit_chunks", "set_fields"):
            monkeypatch.setattr(control, verb, self._verb(verb))
        monkeypatch.setattr(control, "restart_from", self.restart)
