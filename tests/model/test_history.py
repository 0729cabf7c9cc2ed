"""Rows of the history: what a minute's counters become, and how rows are joined."""

from __future__ import annotations

from msgspec.structs import replace

from queueops.inspect.history.series import point_of
from queueops.model.histogram import BOUNDS, bucket
from queueops.model.history import (
    CAPS,
    MOST_LANES,
    MOST_NAMES,
    OTHER_LANES,
    OTHER_NAMES,
    Row,
    capped,
    following,
    merged,
    minute_rows,
    pack,
    together,
    total,
    unpack,
)

COUNTERS = {
    "tr|>pending": "10",
    "tr|pending>locked": "9",
    "tr|locked>succeeded": "6",
    "tr|locked>restart": "2",
    "tr|locked>failed": "1",
    "in|mail.send": "10",
    "ok|mail.send": "6",
    "err|mail.send": "3",
    "re|mail.send": "2",
    "ms|mail.send": "90",
    f"run|mail.send|{bucket(10)}": "9",
    f"wait|mail.send|{bucket(100)}": "9",
    "@in|bulk": "4",
    "@ok|bulk": "3",
    f"@run|bulk|{bucket(10)}": "3",
    "@ok|default": "3",
    "@err|default": "3",
    "@re|default": "2",
    "@g|p": "7 2 4000",
    "@g|s|pending": "7 - -",
    "@g|l|bulk": "5 1 4000",
    "@g|n|mail.send": "7 2 -",
    "stale": "1",
}


def test_one_counter_of_two_transitions_counts_both() -> None:
    apart = {field: value for field, value in COUNTERS.items() if field not in ("tr|>pending", "tr|pending>locked")}
    joined = apart | {"tr|>pending>locked": "9", "tr|>pending": "1"}
    assert minute_rows(joined) == minute_rows(COUNTERS)


def test_a_minute_has_rows_of_pool_states_lanes_and_names() -> None:
    rows = minute_rows(COUNTERS)
    pool, name, bulk, rest = rows["p"], rows["n|mail.send"], rows["l|bulk"], rows["l|default"]
    assert (pool.came, pool.ended, pool.failed, pool.retried) == (10, 7, 3, 2)
    assert (pool.waiting, pool.running, pool.oldest_ms) == (7, 2, 4000)
    assert (name.came, name.ended, name.failed, name.retried, name.run_ms) == (10, 7, 3, 2, 90)
    assert (bulk.came, bulk.ended, bulk.waiting, bulk.running, bulk.oldest_ms) == (4, 3, 5, 1, 4000)
    assert (rest.came, rest.ended, rest.failed, rest.retried, rest.waiting) == (6, 4, 3, 2, -1)
    assert (rows["s|pending"].came, rows["s|pending"].ended, rows["s|pending"].waiting) == (10, 9, 7)
    assert rows["s|locked"].waiting == -1
    for row in (pool, name):
        assert BOUNDS[bucket(100) - 1] < (row.wait_ms(0.95)[0] or 0) <= BOUNDS[bucket(100)]
        assert BOUNDS[bucket(10) - 1] < (row.runtime_ms(0.5)[0] or 0) <= BOUNDS[bucket(10)]


def test_the_share_of_failures_of_a_pool_is_of_all_its_runs() -> None:
    chunks = {"ok|count": "85", "err|count": "15", "re|count": "15"}  # no transition of a task
    with_chunks, alone = minute_rows(COUNTERS | chunks), minute_rows(COUNTERS)
    assert point_of(0, alone["p"]).failure_rate == 3 / 9
    assert point_of(0, with_chunks["p"]).failure_rate == 18 / 109
    assert point_of(0, with_chunks["n|count"]).failure_rate == 15 / 100
    older = replace(alone["p"], attempts=0)  # such as the version before wrote
    assert point_of(0, older).failure_rate == 3 / 9
    assert point_of(0, following([older, with_chunks["p"]])).failure_rate == 21 / 118
    assert following([older, older]).attempts == 0


def test_garbage_among_the_counters_is_left_out() -> None:
    odd = {"run|a|x": "1", "tr|": "z", "@g|p": "x", "@g|": "1 1 1", "ok|a": "b", "": "", "|": "1", "@run||": "1"}
    assert minute_rows(COUNTERS | odd).keys() - minute_rows(COUNTERS).keys() <= {"n|a"}


def test_steps_that_follow_add_counts_and_keep_the_highest_observed_values() -> None:
    one = Row(came=1, ended=2, failed=1, waiting=5, running=-1, oldest_ms=7, waits=(1, 2), runs=(3, 1))
    two = Row(came=2, ended=1, waiting=3, running=4, oldest_ms=9, waits=(1, 1, 2, 5))
    assert following([one, two]) == Row(
        came=3, ended=3, failed=1, waiting=5, running=4, oldest_ms=9, waits=(1, 3, 2, 5), runs=(3, 1)
    )
    assert following([two, one]) == following([one, two])
    assert following([]) == Row()


def test_series_of_the_same_time_are_added() -> None:
    found = together([Row(waiting=5, running=-1, oldest_ms=3), Row(waiting=2, running=-1, oldest_ms=1)])
    assert (found.waiting, found.running, found.oldest_ms) == (7, -1, 3)


def test_only_so_many_lanes_and_names_have_rows_and_the_others_are_summed() -> None:
    many = {f"n|n{number}": Row(came=number, ended=1) for number in range(MOST_NAMES + 20)}
    many |= {f"l|l{number}": Row(ended=number) for number in range(MOST_LANES + 3)} | {"p": Row(came=1)}
    rows = capped(many)
    assert len(rows) == MOST_NAMES + MOST_LANES + 3
    assert rows[OTHER_NAMES] == Row(came=sum(range(20)), ended=20)
    assert rows[OTHER_LANES] == Row(ended=3)
    assert total(rows) == total(many)
    again = merged([rows, {**rows, "n|new": Row(came=999)}])
    assert "n|new" in again
    assert total(again) == 2 * total(rows) + 999


def test_a_row_is_small_and_a_longer_or_shorter_one_can_be_read() -> None:
    row = Row(came=1000, ended=1000, failed=3, waiting=12, running=4, oldest_ms=900, waits=(10, 500, 11, 500))
    assert unpack(pack(row)) == row
    assert len(pack(row)) < 40
    assert unpack(b"\x92\x01\x02") == Row(came=1, ended=2)
    full = Row(came=1, attempts=5)
    assert unpack(pack(full).replace(b"\x9d", b"\x9e", 1) + b"\x07") == full
    assert pack(Row(failed=3)) == b"\x93\x00\x00\x03"
    assert (pack(Row()), unpack(pack(Row()))) == (b"\x90", Row())
    assert unpack(b"garbage") is None


def test_a_minute_has_rows_of_errors_and_workers_and_leaves_out_what_is_unreadable() -> None:
    found = minute_rows({"@e|f1": "3", "@w|w1": "9 2 30000 240000 3 5000", "@w|w2": "9 2", "@w|w3": "a b c d e f"})
    assert found == {
        "e|f1": Row(failed=3),
        "w|w1": Row(ended=9, failed=2, run_ms=30_000, able_ms=240_000, running=3, memory=5000),
    }


def test_the_busy_share_of_a_longer_step_is_of_the_time_that_is_known() -> None:
    known = [Row(run_ms=30, able_ms=60, memory=7, running=1), Row(run_ms=0, able_ms=20, memory=5, running=3)]
    assert following(known) == Row(run_ms=30, able_ms=80, memory=7, running=3)
    assert together([*known, Row()]) == Row(run_ms=30, able_ms=80, memory=12, running=4)


def test_each_sort_has_its_cap() -> None:
    rows = {f"{sign}|{number}": Row(failed=number + 1) for sign in CAPS for number in range(CAPS[sign] + 2)}
    found = capped(rows)
    assert {sign: sum(key.startswith(f"{sign}|") for key in found) for sign in CAPS} == CAPS
    assert {found[sign].failed for sign in CAPS} == {3}
