"""Questions about the chunks of a map-reduce task: what they answer, and that they stay small."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest

from queueops import control, inspect
from queueops.errors import FilterError
from queueops.inspect import ChunksView, pagination
from queueops.kinds.mapreduce.inspect.overview import tolerated
from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.kinds.mapreduce.store import reader as chunk_reader
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key, chunk_set
from queueops.model.contracts import Outcome, Settlement
from queueops.redis.broker import get_broker
from tests.support.chunkwork import ChunkWork
from tests.support.for_each import for_each

HOUR = 3_595_000


@pytest.fixture
def work(namespace: str) -> ChunkWork:
    """A task that has been pushed; nothing has run yet."""
    return ChunkWork(get_broker(), xr=2)


def seen(**part: int) -> ChunksView:
    view = inspect.chunks_of("count", **part)
    assert view is not None
    return view


def columns(view: ChunksView) -> list[dict[str, int]]:
    """The columns of the strip, each as its counts by state."""
    return [dict(zip(CHUNK_STATES, column, strict=True)) for column in view.strip.columns]


def some_of_each(work: ChunkWork, count: int = 20) -> None:
    """Of `count` chunks: 2 failed, 1 backing off, 2 running, half done, the others pending."""
    work.map([{"n": number} for number in range(count)])
    claimed = work.claim(count // 2 + 5)
    work.fail(claimed[:2])
    work.fail(claimed[2:3], delay_ms=HOUR)
    work.done(claimed[5:])


def test_chunks_are_counted_by_state(work: ChunkWork) -> None:
    some_of_each(work)
    view = seen()
    assert view.counts == {"pending": 5, "active": 2, "errored": 1, "done": 10, "failed": 2}
    assert (view.total, view.open, view.state, view.name) == (20, 8, "aggregating", "tests.count")


def test_what_is_no_number_in_a_set_of_chunks_is_left_out(work: ChunkWork) -> None:
    some_of_each(work, 1200)  # so many that a column has several
    before = seen().strip
    assert before.width > 1
    for state in ("active", "errored", "failed"):
        work.broker.client.zadd(chunk_set(work.broker.keys(work.pool), work.id, state), {"x": 0, "[[": 1})
    assert sum(column["failed"] for column in columns(seen())) == 2


def test_before_the_map_there_are_no_chunks(work: ChunkWork) -> None:
    view = seen()
    assert (view.total, view.strip.columns, view.left_s, view.skew) == (0, (), 0.0, None)
    assert (view.strip.end, view.strip.width) == (0, 1)
    page = inspect.chunks("count")
    assert page is not None
    assert (page.rows, page.next, page.total) == ((), "", 0)


def test_of_what_is_no_task_nothing_is_known(work: ChunkWork) -> None:
    for id in ("nobody", "count#0", "", "x" * 300):
        assert inspect.chunks_of(id) is None
        assert inspect.chunks(id) is None
        assert inspect.chunk(id, 0) is None
        assert inspect.chunks_named(id, [0]) == ()
    assert inspect.chunks_of("count", "elsewhere") is None
    assert inspect.chunk("count", 99) is None


def test_few_chunks_have_a_column_each_with_their_attempts(work: ChunkWork) -> None:
    some_of_each(work)
    strip = seen().strip
    assert (strip.first, strip.end, strip.width, strip.exact) == (0, 20, 1, True)
    states = ["".join(state for state in CHUNK_STATES if column[state]) for column in columns(seen())]
    assert states[:6] == ["failed", "failed", "errored", "active", "active", "done"]
    assert strip.attempts[:4] == (1, 1, 1, 0)


def test_many_chunks_share_columns_and_none_is_lost(work: ChunkWork) -> None:
    work.map(list(range(2300)))
    claimed = work.claim(1500)
    work.fail(claimed[7:1400:200])
    work.done(number for number in claimed[:1400] if number in work.leases)
    view = seen()
    assert (view.strip.width, len(view.strip.columns), view.strip.exact) == (5, 460, True)
    assert sum(map(Counter, columns(view)), Counter()) == Counter(view.counts) - Counter()
    assert columns(view)[1] == {"pending": 0, "active": 0, "errored": 0, "done": 4, "failed": 1}
    assert columns(view)[-1]["pending"] == 5


def test_a_part_of_the_strip_can_be_asked_for(work: ChunkWork) -> None:
    work.map(list(range(1200)))
    strip = seen(first=1100, count=500).strip
    assert (strip.first, strip.end, strip.width, len(strip.columns)) == (1100, 1200, 1, 100)
    assert seen(first=99_999, count=500).strip.first == 1199


def test_a_large_set_is_sampled_and_that_is_said(work: ChunkWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_reader, "MOST_READ", 600)
    work.map(list(range(1500)))
    claimed = work.claim(1200)
    work.done(claimed[:300])
    work.fail(claimed[300:1100])
    view = seen()
    found = sum(map(Counter, columns(view)), Counter())
    assert not view.strip.exact
    assert found == {
        "done": pytest.approx(300, abs=3),
        "failed": pytest.approx(800, abs=3),
        "active": 100,
        "pending": 300,
    }


def test_the_longest_run_is_that_of_all_chunks_not_of_those_that_were_looked_at(work: ChunkWork) -> None:
    work.map(list(range(300)))
    claimed = work.claim(300)
    key = chunk_key(work.broker.keys(work.pool), work.id, 77)
    work.broker.client.hincrby(key, "b", -5000)
    work.done(claimed)
    skew = seen().skew
    assert skew is not None
    assert skew.slowest == 77
    assert skew.max_ms >= 5000
    assert skew.p50_ms < 5000


def test_the_way_of_a_task_shows_when_each_stage_began_and_ended(work: ChunkWork) -> None:
    work.map([1, 2])
    work.done(work.claim(2))
    (reduce,) = work.exchange(want=1).leases
    work.exchange(settle=[Settlement(work.id, reduce.fence, Outcome.SUCCESS, b"3")])
    task = inspect.task(work.id)
    assert task is not None
    states = ["", "mapping", "aggregating", "pending", "reducing", "succeeded"]
    assert [moment.state for moment in task.timeline] == states
    assert [moment.t for moment in task.timeline] == sorted(moment.t for moment in task.timeline)
    assert [(line.kind, line.text) for line in task.log][:2] == [
        ("mapped", "2 chunks"),
        ("gathered", "all chunks have ended"),
    ]


def test_the_way_of_a_task_shows_that_its_chunks_were_processed_again(work: ChunkWork) -> None:
    work.map([1, 2])
    work.done(work.claim(2))
    assert control.restart_from(work.id, "process", every=True).word == "OK"
    work.done(work.claim(2))
    task = inspect.task(work.id)
    assert task is not None
    states = ["", "mapping", "aggregating", "pending", "aggregating", "pending"]
    assert [moment.state for moment in task.timeline] == states


def test_the_pace_tells_how_long_the_rest_takes(work: ChunkWork) -> None:
    work.map(list(range(100)))
    work.done(work.claim(60))
    view = seen()
    assert 0 < view.per_second <= 60
    assert view.left_s == pytest.approx(40 / view.per_second)
    assert sum(view.pace) in (0, 60)  # 0: all within one millisecond
    done = chunk_set(work.broker.keys(work.pool), work.id, "done")
    work.broker.client.zadd(done, {str(n): inspect.now_ms() - 1000 * (60 - n) + 500 for n in range(60)}, xx=True)
    assert sum(seen().pace) == 60, "each is counted in one step"
    assert view.skew is not None
    assert view.skew.sampled == 60
    assert view.skew.p50_ms <= view.skew.p95_ms <= view.skew.max_ms


def test_the_rest_takes_no_less_than_the_last_back_off(namespace: str) -> None:
    work = ChunkWork(get_broker(), xr=1)
    work.map(list(range(30)))
    work.done(work.claim(10))
    work.fail(work.claim(5), delay_ms=7_200_000)
    work.fail(work.claim(5), delay_ms=1_800_000)
    assert 3600 < (seen().left_s or 0) <= 7200
    work.done(work.claim(10))
    assert 3600 < (seen().left_s or 0) <= 7200
    done = chunk_set(work.broker.keys(work.pool), work.id, "done")
    work.broker.client.zadd(done, dict.fromkeys(map(str, range(30)), 1), xx=True)  # long ago
    assert seen().per_second == 0
    assert 3600 < (seen().left_s or 0) <= 7200


def test_nothing_moves_and_no_time_is_promised(work: ChunkWork) -> None:
    work.map([1, 2])
    assert seen().left_s is None


def test_what_runs_for_longest_comes_first(work: ChunkWork) -> None:
    work.map(list(range(30)))
    work.claim(2)
    time.sleep(0.003)
    work.claim(20)
    stragglers = seen().stragglers
    assert [row.number for row in stragglers[:2]] == [0, 1]
    assert stragglers[0].begun_ms < stragglers[2].begun_ms
    assert {row.worker for row in stragglers} == {"w1"}
    assert len(stragglers) == chunk_reader.STRAGGLERS


def test_errors_are_grouped_and_lead_to_one_of_their_chunks(work: ChunkWork) -> None:
    some_of_each(work)
    other = json.dumps({"fingerprint": "beef", "type": "KeyError", "message": "'k'", "traceback": ""}).encode()
    work.fail([3], error=other)
    view = seen()
    assert [(error.failure.fingerprint, error.failed, error.errored) for error in view.errors] == [
        ("f00d", 2, 1),
        ("beef", 1, 0),
    ]
    assert (view.errors[1].failure.message, view.errors[1].number, view.looked) == ("'k'", 3, 4)


@pytest.mark.parametrize("state", ["", *CHUNK_STATES])
def test_each_list_shows_every_chunk_once(work: ChunkWork, state: str) -> None:
    some_of_each(work, 60)
    found: list[int] = []
    after = ""
    while True:
        page = inspect.chunks("count", state=state, after=after, limit=4)
        assert page is not None
        found += [row.number for row in page.rows]
        assert {row.state for row in page.rows} <= ({state} if state else set(CHUNK_STATES))
        if not (after := page.next):
            break
    expected = seen().total if not state else seen().counts[state]
    assert (len(found), len(set(found)), page.total) == (expected, expected, expected)
    if state in ("", "pending"):
        assert found == sorted(found)


def test_what_ended_last_is_listed_first(work: ChunkWork) -> None:
    work.map(list(range(5)))
    work.claim(3)
    for number in (1, 0, 2):
        work.done([number])
        time.sleep(0.002)
    page = inspect.chunks("count", state="done")
    assert page is not None
    assert [row.number for row in page.rows] == [2, 0, 1]


def test_a_list_can_be_of_one_kind_of_error(work: ChunkWork) -> None:
    some_of_each(work)
    other = json.dumps({"fingerprint": "beef", "type": "KeyError", "message": "'k'", "traceback": ""}).encode()
    work.fail([4], error=other)
    page = inspect.chunks("count", state="failed", error="beef")
    assert page is not None
    assert [(row.number, row.error.type if row.error else "") for row in page.rows] == [(4, "KeyError")]


def test_a_search_stops_at_its_budget_and_can_go_on(work: ChunkWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_reader, "BUDGET", 3)
    some_of_each(work)
    page = inspect.chunks("count", error="f00d", limit=10)
    assert page is not None
    assert ([row.number for row in page.rows], page.partial) == ([0, 1, 2], True)
    after = inspect.chunks("count", error="f00d", limit=10, after=page.next)
    assert after is not None
    assert (after.rows, after.partial, bool(after.next)) == ((), True, True)


@pytest.mark.parametrize(
    "after",
    [
        "nonsense",
        "x" * 30_000,
        pagination.write({"default": ("x", "1", "2")}),
        pagination.write({"default": ("*", "nan", "2")}),
        pagination.write({"default": ("*", "1", "two")}),
        pagination.write({"default": ("*", "1", "9" * 400)}),
    ],
)
def test_a_position_that_is_none_is_refused(work: ChunkWork, after: str) -> None:
    with pytest.raises(FilterError, match="the position in the list"):
        inspect.chunks("count", after=after)


@pytest.mark.parametrize("score", ["1_0", " 1", "-5", "1e300", ""])
def test_an_odd_position_harms_nobody(work: ChunkWork, score: str) -> None:
    some_of_each(work)
    for state in ("", "done", "pending"):
        after = pagination.write({"default": (state or "*", score, "3"), "elsewhere": (state or "*", "1", "x")})
        assert inspect.chunks("count", state=state, after=after) is not None
    assert inspect.tasks(inspect.TaskQuery(), after=pagination.write({"default": ("*", score, "x")})).rows is not None


def test_a_state_that_chunks_do_not_have_is_refused_with_advice(work: ChunkWork) -> None:
    with pytest.raises(FilterError, match=r"there is no state 'faild' of chunks; did you mean 'failed'\?"):
        inspect.chunks("count", state="faild")


def test_secrets_in_data_and_results_are_masked(work: ChunkWork) -> None:
    work.map([{"path": "a", "token": "hunter2"}])
    work.done(work.claim(1), b'{"password": "hunter2"}')
    page, one = inspect.chunks("count"), inspect.chunk("count", 0)
    assert page is not None
    assert one is not None
    assert page.rows[0].data == '{"path": "a", "token": "[redacted]"}'
    assert "hunter2" not in one.data_json + one.result_json
    assert json.loads(one.result_json) == {"password": "[redacted]"}


def test_long_data_is_not_read_for_a_list(work: ChunkWork) -> None:
    work.map(["x" * 5000])
    page = inspect.chunks("count")
    assert page is not None
    assert (page.rows[0].data, page.rows[0].data_size) == ("", 5002)


def test_a_chunk_tells_its_attempts_with_their_tracebacks(work: ChunkWork) -> None:
    work.map([1])
    work.fail(work.claim(1), delay_ms=0)
    work.claim(1)
    one = inspect.chunk("count", 0)
    assert one is not None
    assert [(attempt.number, attempt.kind, attempt.worker) for attempt in one.attempts] == [
        (1, "error", "w1"),
        (2, "running", "w1"),
    ]
    assert one.attempts[0].error is not None
    assert "in process" in one.attempts[0].error.traceback
    assert (one.state, one.attempt, one.retries, one.task_state) == ("active", 1, 2, "aggregating")
    assert one.deadline_ms is not None


@for_each(
    ("state", "task_state", "verbs"),
    [
        ("failed", "aggregating", ("retry", "drop", "skip", "edit")),
        ("errored", "aggregating", ("retry", "postpone", "drop", "skip", "edit")),
        ("errored", "cancelled", ("retry", "drop", "skip", "edit")),
        ("active", "aggregating", ("release", "speculate")),
        ("failed", "failed", ("retry", "drop", "skip", "edit")),
        ("done", "succeeded", ("retry",)),
        ("pending", "failed", ("drop", "skip", "edit")),
        ("failed", "reducing", ("edit",)),
        ("", "aggregating", ()),
    ],
)
def test_what_may_be_done_follows_from_the_chunk_and_its_task(state: str, task_state: str, verbs: object) -> None:
    assert inspect.chunk_verbs(state, task_state) == verbs


@for_each(
    ("policy", "total", "most"), [("", 50, 0), ("7", 50, 7), ("5%", 50, 2), ("2.5%", 1000, 25), ("10000000", 50, None)]
)
def test_how_many_may_fail_follows_from_the_policy(policy: str, total: int, most: int | None) -> None:
    assert tolerated(policy, total) == most


def test_the_progress_of_the_task_is_that_of_its_chunks(work: ChunkWork) -> None:
    some_of_each(work)
    task = inspect.task("count")
    (row,) = inspect.tasks(inspect.TaskQuery(kind="mapreduce")).rows
    assert task is not None
    assert (task.progress, task.total, row.progress) == (12.0, 20.0, 12.0)


def test_why_a_task_does_not_reduce_yet(work: ChunkWork) -> None:
    some_of_each(work)
    findings = inspect.why("count")
    texts = [finding.text for finding in findings]
    assert texts[0] == "The reduce waits for 8 chunks."
    assert texts[1:3] == ["2 chunks failed.", "1 chunk waits for its next attempt: the first one starts in 60 min."]
    assert texts[3] == "2 chunks are running."
    assert texts[5] == "5 chunks wait for a worker, in turn with the other lanes of the pool."
    assert texts[6] == "No live worker serves the pool default; start `manage.py runworker --pool default`."
    assert [finding.verb for finding in findings[1:3]] == ["retry_chunks", "retry_chunks"]


def test_why_chunks_wait_while_as_many_run_as_may(namespace: str) -> None:
    work = ChunkWork(get_broker(), mx=2)
    work.map(list(range(5)))
    work.claim(5)
    assert "3 chunks wait: the task runs at most 2 at once." in [finding.text for finding in inspect.why("count")]


def test_ten_thousand_chunks_are_one_picture_of_five_hundred_columns(work: ChunkWork) -> None:
    work.map([0] * 10_000)
    work.done(work.claim(3000))
    assert len(seen().strip.columns) == 500
