"""The charts of the history: readable without JavaScript, with texts for those who do not see them."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from msgspec.structs import replace

from console.diagram.chart import charts, draw, spark, spark_of_failures, spark_of_line
from console.diagram.history_figures import FAILING, FAILURES, FLOW, texts_of
from console.pages.history import RANGES, written
from queueops import inspect
from queueops.inspect import Point, Series, Trend
from tests.console.standin import World
from tests.console.standin_history import HistoryWorld

MINUTE_MS = 60_000


def series_of(*points: Point) -> Series:
    return Series(range="1h", step_ms=MINUTE_MS, points=points, stretches=points, total=points[0])


def test_a_chart_has_lines_with_gaps_where_nothing_is_known() -> None:
    known = [Point(at_ms=number, came=60 * number, ended=60) for number in (1, 2, 4)]
    found = draw(series_of(*known[:2], Point(at_ms=3, known=False), known[2]), FLOW)
    assert found is not None
    assert [line.d.count("M") for line in found.lines] == [2, 2]
    assert found.top == "4.0/s"
    assert found.summary == "Throughput. in: 4.0/s at the end, 4.0/s at most; out: 1.0/s at the end, 1.0/s at most"
    assert [column.values for column in found.columns] == [
        "in 1.0/s, out 1.0/s",
        "in 2.0/s, out 1.0/s",
        "in 4.0/s, out 1.0/s",
    ]


def test_a_chart_without_any_value_is_left_out() -> None:
    assert charts(series_of(Point(at_ms=1, known=False))) == ()
    assert [chart.word for chart in charts(series_of(Point(at_ms=1, came=3)))] == ["flow", "failing"]
    assert draw(series_of(Point(at_ms=1)), FAILING).top == "0%"  # type: ignore[union-attr]


def test_a_line_of_failures_is_red_only_if_something_failed() -> None:
    for failed in (0, 3):
        found = draw(series_of(Point(at_ms=1, ended=9, failed=failed), Point(at_ms=2, ended=9)), FAILURES)
        assert found is not None
        assert [line.is_zero for line in found.lines] == [not failed]


def test_a_step_that_is_still_open_has_the_rate_of_the_part_that_was_counted() -> None:
    whole, part = Point(at_ms=1, came=60, failed=9), Point(at_ms=2, came=15, failed=2)
    series = replace(series_of(whole, part), counted_ms=MINUTE_MS // 4)
    found = draw(series, FLOW)
    assert found is not None
    assert [line.last for line in found.lines] == ["1.0/s", "0/s"]
    assert "in: 1.0/s at the end" in found.summary
    assert found.columns[-1].values == texts_of(series, FLOW)[-1] == "in 1.0/s, out 0/s"
    failures = draw(series, FAILURES)
    assert failures is not None
    assert failures.lines[0].last == "2 so far"


def test_a_long_range_has_few_columns_with_the_highest_values_in_them() -> None:
    points = [Point(at_ms=number, came=number, ended=0) for number in range(336)]
    found = draw(series_of(*points), FLOW)
    assert found is not None
    assert len(found.columns) == 24
    assert found.columns[0].values == "in 0.22/s, out 0/s"
    assert sum(column.width for column in found.columns) == pytest.approx(1000, abs=4)


def test_a_small_chart_has_failures_apart_and_says_its_numbers() -> None:
    rows = {"step_ms": MINUTE_MS, "until_ms": 0, "waiting": (None, None)}
    found = spark(Trend(ended=(3, 5), failed=(0, 2), **rows))
    assert found is not None
    assert found.text == "8 runs ended, 2 failed in 2\N{NARROW NO-BREAK SPACE}min"
    assert found.failed.startswith("M")
    early = spark(Trend(ended=(9, 9, 9, 9, 9), failed=(0, 0, 0, 2, 0), **rows))
    assert early is not None
    assert early.failed == "M50 23L75 18L100 23", "no line where nothing failed"
    well = spark(Trend(ended=(9, 9), failed=(0, 0), **rows))
    assert well is not None
    assert well.failed == ""
    assert spark(Trend(ended=(0, 0), failed=(0, 0), **rows)) is None
    assert spark(None) is None


@pytest.mark.parametrize("range", RANGES)
@pytest.mark.usefixtures("world")
def test_the_overview_has_the_charts_of_a_range(viewer: Client, range: str) -> None:
    text = viewer.get("/ops/", {"range": range}).content.decode()
    assert text.count('<figure class="chart') == 6
    assert re.search(rf'<a href="\?range={range}#history" aria-current="true">', text)
    assert 'aria-label="Throughput. in: ' in text
    assert '<th scope="col" class="n">Wait p99</th>' in text


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("page", ["lanes", "registry"])
def test_lanes_and_names_have_small_charts(viewer: Client, page: str) -> None:
    text = viewer.get(f"/ops/{page}/").content.decode()
    assert text.count('<svg class="spark"') == 2
    assert "<title>1,770 runs ended, 1,770 failed in 1" in text


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("errors/", ["failures in 1"]),
        ("workers/", ["runs ended"]),
        ("pools/default/", ["runs ended"]),
        (
            "",
            [
                "Throughput: 2.0/s",
                "Failing: ",
                "Waiting and running: ",
                "Wait: ",
                "Run time: ",
                "runs ended",
                "failures in",
            ],
        ),
    ],
)
def test_lists_and_figures_have_small_charts_with_their_text(viewer: Client, page: str, words: list[str]) -> None:
    text = viewer.get(f"/ops/{page}").content.decode()
    told = re.findall(r'<svg class="spark"[^>]+><title>([^<]+)', text)
    for each in words:
        assert any(each in one for one in told), (each, told)


def test_a_small_chart_of_failures_or_of_one_line_says_its_numbers() -> None:
    trend = Trend(step_ms=MINUTE_MS, until_ms=0, ended=(0, 0), failed=(0, 2), waiting=(None, None))
    found = spark_of_failures(trend)
    assert found is not None
    assert (found.text, found.d) == ("2 failures in 2\N{NARROW NO-BREAK SPACE}min", "")
    assert spark_of_failures(None) is None
    points = [Point(at_ms=number, wait_p95_ms=value) for number, value in enumerate((10.0, None, 40.0))]
    line = spark_of_line(series_of(*points), "wait", "p95")
    assert line is not None
    assert (line.d.count("M"), line.text) == (
        2,
        "Wait: 40\N{NARROW NO-BREAK SPACE}ms at most in 3\N{NARROW NO-BREAK SPACE}min",
    )
    assert spark_of_line(series_of(*points[:2]), "wait", "p95") is None


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("page", "titles", "column"),
    [
        ("errors/f00/?range=14d", ["Failures per hour"], "Failed"),
        ("errors/f00/?range=24h", ["Failures per ten minutes"], "Failed"),
        ("workers/host:1/?range=1h", ["Runs", "Busy share of its slots", "Slots used", "Memory"], "Busy"),
    ],
)
def test_an_error_and_a_worker_have_charts_of_their_own(
    viewer: Client, page: str, titles: list[str], column: str
) -> None:
    text = viewer.get(f"/ops/{page}").content.decode()
    history = text[text.index('<section id="history"') :]
    assert re.findall(r"<figcaption><strong>([^<]+)", history) == titles
    assert f'<th scope="col" class="n">{column}</th>' in history
    assert ("error=f00" if "errors" in page else "worker=") in re.findall(r'hx-get="([^"]+)"', history)[0]


@pytest.mark.parametrize(
    ("page", "known", "shown"),
    [("?range=1h", 4, 10), ("?range=1h", 30, 30), ("?range=14d", 60, 60), ("lanes/default/slow/?range=24h", 20, 20)],
)
def test_the_charts_of_a_young_store_begin_with_its_history_and_say_so(
    page: str, known: int, shown: int, viewer: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    HistoryWorld(world, known).install(monkeypatch)
    text = viewer.get(f"/ops/{page}").content.decode()
    history = text[text.index('<section id="history"') :]
    assert re.findall(r'data-points="(\d+)"', history) == [str(shown)]
    assert re.search(r"The history of this range begins at \d\d:\d\d [\w-]+\.", history)
    drawn = [int(x) for x in re.findall(r"[ML](\d+) ", re.findall(r'line-1" d="([^"]+)', history)[0])]
    assert (drawn[0], drawn[-1]) == (0, round((known - 1) / (shown - 1) * 1000))  # before the time to come
    (begin,) = re.findall(r'data-from="(\d+)"', history)
    values = viewer.get(re.findall(r'data-values="([^"]+)"', history)[0].replace("&amp;", "&")).json()
    assert (values["from"], len(values["times"])) == (int(begin), shown)
    assert {len(texts) for texts in values["charts"].values()} == {shown}


def test_charts_of_a_moment_before_the_history_begin_with_that_moment(
    viewer: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    HistoryWorld(world, 20).install(monkeypatch)
    at = inspect.series("1h").points[25].at_ms
    text = viewer.get("/ops/lanes/default/slow/", {"range": "1h", "at": written(at)}).content.decode()
    assert f'data-from="{at}"' in text
    assert re.search(r'<line class="mark" x1="0.0"', text)


@pytest.mark.usefixtures("world")
def test_the_charts_of_a_full_range_have_all_of_it(viewer: Client) -> None:
    text = viewer.get("/ops/", {"range": "1h"}).content.decode()
    assert 'data-points="60"' in text
    assert "The history of this range begins" not in text


@pytest.mark.usefixtures("world")
def test_an_unknown_range_is_the_usual_one_and_two_facets_are_not_found(viewer: Client) -> None:
    assert 'href="?range=24h#history" aria-current' in viewer.get("/ops/?range=9y").content.decode()
    assert viewer.get("/ops/_history?lane=a&name=b").status_code == 404


def test_the_live_update_is_empty_until_a_step_is_added(
    viewer: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = viewer.get("/ops/_history", {"range": "1h", "name": "demo.task"}).content.decode()
    (url,) = re.findall(r'hx-get="([^"]+)"', first)
    url = url.replace("&amp;", "&")
    assert "name=demo.task" in url
    assert viewer.get(url).status_code == 204
    later = World()
    later.now = world.now + MINUTE_MS
    HistoryWorld(later).install(monkeypatch)
    assert viewer.get(url).status_code == 200
