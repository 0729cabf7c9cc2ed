"""The history of the stand-in: one hour of a busy system, with a gap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from queueops import inspect
from queueops.inspect import RANGES, HistoryMark, OverviewHistory, Past, PastRow, Point, Series, Trend, Trends

if TYPE_CHECKING:
    from tests.console.standin import World


class HistoryWorld:
    """Every series is the same; the history of a young store has its last `known` points alone."""

    def __init__(self, world: World, known: int | None = None) -> None:
        self.world, self.known = world, known

    def series(
        self,
        word: str = "1h",
        *,
        pool: str = "",
        lane: str = "",
        name: str = "",
        state: str = "",
        error: str = "",
        worker: str = "",
        since_ms: int = 0,
        now_ms: int = 0,
        max_age_s: float = 0.0,
    ) -> Series:
        self.world._ask()
        word = "24h" if word == "fit" else word
        chosen = RANGES[word]
        first = self.world.now // chosen.step_ms - chosen.points
        points = [self.point((first + number) * chosen.step_ms, number) for number in range(chosen.points)]
        if self.known is not None:
            earlier = points[: len(points) - self.known]
            points[: len(earlier)] = [Point(at_ms=point.at_ms, known=False) for point in earlier]
        return Series(
            pool=pool,
            lane=lane,
            name=name,
            state=state,
            error=error,
            worker=worker,
            range=word,
            step_ms=chosen.step_ms,
            points=tuple(points),
            stretches=tuple(points[:: chosen.stretch]),
            total=points[0],
            marks=self.marks(points),
            begins_ms=next((point.at_ms for point in points if point.known), None),
        )

    def point(self, at_ms: int, number: int) -> Point:
        if number % 10 == 7:
            return Point(at_ms=at_ms, known=False)
        times = {f"{word}_p{q}_ms": float(q * (number % 5 + 1)) for word in ("wait", "run") for q in (50, 95, 99)}
        counts = {"came": 60 + number, "ended": 58, "failed": number % 4, "waiting": number, "running": 4}
        return Point(at_ms=at_ms, oldest_ms=900, busy_share=0.4, memory=50_000_000 + number, **counts, **times)

    def lane_trends(self, lanes: Iterable[tuple[str, str]], max_age_s: float = 0.0) -> dict[tuple[str, str], Trend]:
        return {lane: self.trend() for lane in lanes}

    def name_trends(self, names: Iterable[str], max_age_s: float = 0.0) -> dict[str, Trend]:
        return {name: self.trend() for name in names}

    def trends(self, word: str = "1h", *, max_age_s: float = 0.0, **things: Iterable[str | tuple[str, str]]) -> Trends:
        return Trends(**{sort: dict.fromkeys(each, self.trend()) for sort, each in things.items()})  # type: ignore[arg-type]

    def overview_history(self, word: str = "fit", *, max_age_s: float = 0.0, **things: Any) -> OverviewHistory:
        hour = self.series("1h")
        return OverviewHistory(
            series=self.series(word), hour=hour, yesterday=hour.points[3], trends=self.trends(**things)
        )

    def past(self, at_ms: int, max_age_s: float = 0.0) -> Past:
        point, text = self.point(at_ms, 3), self.world.text
        rows = {word: (PastRow(**{word: text}, point=point),) for word in ("pool", "name")}
        lanes = (PastRow(pool="default", lane="slow", point=point), PastRow(pool=text, lane=text, point=point))
        return Past(
            at_ms=at_ms,
            step_ms=60_000,
            total=point,
            pools=rows["pool"],
            lanes=lanes,
            names=rows["name"],
            errors=(PastRow(error="f00", point=point),),
            states={"failed": 2},
        )

    def marks(self, points: list[Point]) -> tuple[HistoryMark, ...]:
        """One of each kind, apart from each other."""
        facts = {"text": self.world.text, "level": "danger"}
        kinds = enumerate(("version", "start", "end", "alarm"), start=1)
        return tuple(HistoryMark(at_ms=points[-10 * number].at_ms, kind=kind, **facts) for number, kind in kinds)

    def trend(self) -> Trend:
        self.world._ask()
        many = tuple(range(60))
        return Trend(step_ms=60_000, until_ms=self.world.now, ended=many, failed=many[::-1], waiting=many)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer in the engine's place."""
        for name in ("series", "lane_trends", "name_trends", "past", "trends", "overview_history"):
            monkeypatch.setattr(inspect, name, getattr(self, name))
