from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Thread

import pytest

from queueops import control, inspect
from queueops.errors import BrokerUnavailable, FilterError
from queueops.inspect import TaskList, TaskQuery, TaskRow
from queueops.inspect.redaction import concealing
from queueops.inspect.shared_readings import SharedReadings
from queueops.model.contracts import Outcome, Push
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk
from tests.support.monitoring import round_trips


def walk(query: TaskQuery, limit: int = 7) -> Iterator[TaskRow]:
    """All pages of a list."""
    after = ""
    while True:
        page = inspect.tasks(query, after=after, limit=limit)
        yield from page.rows
        after = page.next
        if not after:
            return


def ids(query: TaskQuery, limit: int = 7) -> list[str]:
    return [row.id for row in walk(query, limit)]


def test_pages_show_every_task_of_a_state_once_also_when_all_came_in_the_same_millisecond(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(450)])
    found = ids(TaskQuery(state="pending"), limit=13)
    assert len(found) == 450
    assert len(set(found)) == 450
    assert ids(TaskQuery(state="pending"), limit=200) == found


def test_pages_of_all_states_are_newest_first(desk: Desk) -> None:
    desk.push("a", "b", "c")
    desk.push("later", delay_ms=60_000)
    desk.settle(desk.lease())
    rows = list(walk(TaskQuery(), limit=2))
    assert {row.id: row.state for row in rows} == {
        "a": "succeeded",
        "b": "pending",
        "c": "pending",
        "later": "postponed",
    }
    assert [row.entered_ms for row in rows] == sorted((row.entered_ms for row in rows), reverse=True)
    for row in rows:
        desk.client.zadd(f"{desk.keys.prefix}:state:{row.state}", {row.id: 1})
    assert ids(TaskQuery(), limit=1) == ["later", "c", "b", "a"]  # of one moment: by their ids


def test_a_page_its_counts_and_the_shown_rows_are_of_one_moment(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(9)])
    wrong: list[object] = []
    ended = Event()

    def read() -> None:
        while not ended.is_set():
            found = inspect.browse(TaskQuery(state="pending"), shown=[("default", "t0"), ("default", "t1")])
            counts = dict(found.facets["state"])
            told = found.page.total, len(found.page.rows), counts["pending"], dict(found.facets["name"])["tests.noop"]
            states = {row.state for row in found.shown.values() if row}
            if len(set(told)) > 1 or len(states) != 1 or (states == {"pending"}) != (told[0] == 9):
                wrong.append((told, states))

    reader = Thread(target=read)
    reader.start()
    for _ in range(300):
        desk.control("cancel", *[f"t{number}" for number in range(9)])
        desk.control("reinstate", *[f"t{number}" for number in range(9)])
    ended.set()
    reader.join()
    assert wrong == []


def test_shown_rows_are_told_as_they_are_now(desk: Desk) -> None:
    desk.push("a", "b")
    desk.settle(desk.lease())
    shown = [("default", "a"), ("default", "b"), ("default", "gone"), ("nowhere", "a")]
    found = inspect.browse(TaskQuery(state="pending"), shown=shown)
    assert {place: row and row.state for place, row in found.shown.items()} == {
        ("default", "a"): "succeeded",
        ("default", "b"): "pending",
        ("default", "gone"): None,
    }
    assert [row.id for row in inspect.browse(TaskQuery(id="a")).page.rows] == ["a"]
    assert "nowhere" not in desk.broker.pools()


def test_pages_of_the_same_list_share_a_reading(desk: Desk) -> None:
    """A row that one of them still shows is read beside it; the first load of a page reads anew."""
    desk.push("a", "b", "c")
    query, rows = TaskQuery(state="pending"), [("default", id) for id in ("a", "b", "c")]
    assert inspect.browse(query).page.total == 3
    desk.settle(desk.lease())
    found: list[TaskList] = []
    asked = round_trips(desk, lambda: found.extend(inspect.browse(query, shown=rows, max_age_s=60) for _ in range(50)))
    assert asked.sent == []
    assert {listed.page.total for listed in found} == {3}
    other = inspect.browse(query, shown=[*rows, ("default", "gone"), ("nowhere", "a")], max_age_s=60)
    assert other.shown["default", "gone"] is None
    assert ("nowhere", "a") not in other.shown
    assert inspect.browse(query).page.total == 2
    assert inspect.browse(query, max_age_s=60).page.total == 2


def test_a_shared_reading_keeps_concealed_texts_from_other_users(desk: Desk) -> None:
    desk.push("a", args=b'[["classified"],{}]')
    assert "classified" in inspect.browse(TaskQuery()).page.rows[0].args
    with concealing():
        assert "classified" not in inspect.browse(TaskQuery(), max_age_s=60).page.rows[0].args


def test_a_store_that_does_not_answer_costs_the_pages_of_a_list_one_question(desk: Desk) -> None:
    readings: SharedReadings[str] = SharedReadings()
    asked: list[int] = []

    def ask() -> str:
        asked.append(1)
        raise BrokerUnavailable(url="redis://x", attempts=1, reason="refused")

    for _ in range(3):
        with pytest.raises(BrokerUnavailable):
            readings.read("list", 60, ask)
    assert asked == [1]


def test_a_list_goes_on_after_the_row_it_ended_with_has_gone(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(9)])
    page = inspect.tasks(TaskQuery(state="pending"), limit=3)
    desk.control("cancel", *[row.id for row in page.rows])
    rest = inspect.tasks(TaskQuery(state="pending"), after=page.next, limit=50)
    assert len(rest.rows) == 6
    assert not {row.id for row in rest.rows} & {row.id for row in page.rows}


def test_several_facets_all_match(desk: Desk) -> None:
    desk.push("a1", "a2", name="add", tags=("eu", "big"))
    desk.push("a3", name="add", tags=("us",), lane="side")
    desk.push("m1", name="mul", tags=("eu",))
    assert ids(TaskQuery(name="add", tag="eu")) == ["a2", "a1"]
    assert ids(TaskQuery(state="pending", name="mul")) == ["m1"]
    assert ids(TaskQuery(lane="side")) == ["a3"]
    assert ids(TaskQuery(state="pending", lane="side", name="add")) == ["a3"]
    assert ids(TaskQuery(kind="job")) == []
    assert ids(TaskQuery(state="failed", name="add")) == []


def test_the_tasks_of_an_error_are_found_whether_they_failed_or_back_off(desk: Desk) -> None:
    desk.push("dead", "alive", retries=1)
    for lease in desk.claim(2):
        desk.settle(lease, Outcome.ERROR, delay_ms=-1 if lease.id == "dead" else 60_000, **stored("f1"))
    assert ids(TaskQuery(error="f1")) == ["dead"]
    assert ids(TaskQuery(error="f1", state="restart")) == ["alive"]
    assert ids(TaskQuery(error="f2")) == []


def test_one_id_is_found_in_any_pool(desk: Desk) -> None:
    desk.broker.push([Push(id="x", name="add", pool="mail"), Push(id="y", name="add")])
    assert [(row.id, row.pool) for row in inspect.tasks(TaskQuery(id="x")).rows] == [("x", "mail")]
    assert inspect.tasks(TaskQuery(id="x", pool="default")).rows == ()
    assert inspect.tasks(TaskQuery(id="x", state="failed")).rows == ()
    assert inspect.tasks(TaskQuery(id="nobody")).rows == ()


def test_pages_of_several_pools_are_one_list(desk: Desk) -> None:
    for number in range(20):
        desk.broker.push([Push(id=f"t{number:02}", name="add", pool=("default", "mail", "slow")[number % 3])])
    rows = list(walk(TaskQuery(name="add"), limit=3))
    assert len({row.id for row in rows}) == 20
    assert [row.created_ms for row in rows] == sorted((row.created_ms for row in rows), reverse=True)
    assert ids(TaskQuery(pool="mail"))[:2] == ["t19", "t16"]
    assert ids(TaskQuery(pool="nobody")) == []


def test_a_filter_that_matches_little_ends_a_page_early_and_says_so(desk: Desk) -> None:
    for start in range(0, 3000, 500):
        desk.push(*[f"t{number}" for number in range(start, start + 500)])
    desk.client.hset(desk.keys.task("t0"), "l", "side")
    page = inspect.tasks(TaskQuery(lane="side"))
    assert (page.rows, page.partial) == ((), True)
    assert ids(TaskQuery(lane="side")) == ["t0"]


def test_a_kind_is_found_among_many_others_at_once(desk: Desk) -> None:
    desk.push("first", kind="mapreduce")
    for start in range(0, 3000, 500):
        desk.push(*[f"t{number}" for number in range(start, start + 500)])
    page = inspect.tasks(TaskQuery(kind="mapreduce"))
    assert ([row.id for row in page.rows], page.partial, page.total, page.exact) == (["first"], False, 1, True)


def test_a_record_that_cannot_be_read_is_shown_all_the_same(desk: Desk) -> None:
    desk.push("good", "gone", "text")
    desk.client.delete(desk.keys.task("gone"), desk.keys.task("text"))
    desk.client.set(desk.keys.task("text"), "no record")
    rows = {row.id: row for row in walk(TaskQuery(state="pending"))}
    assert set(rows) == {"good", "gone", "text"}
    assert (rows["gone"].state, rows["gone"].name) == ("pending", "")


def test_garbage_in_the_fields_does_no_harm(desk: Desk) -> None:
    desk.push("t")
    garbage = b"\xff\xfe<script>"
    desk.client.hset(desk.keys.task("t"), mapping=dict.fromkeys(("p", "at", "r", "c", "a", "er", "pr", "tg"), garbage))
    (row,) = inspect.tasks(TaskQuery()).rows
    assert (row.priority, row.attempt, row.progress) == (0, 0, None)


def test_arguments_are_cut_and_redacted(desk: Desk) -> None:
    desk.push("short", args=b'[[1],{"password":"hunter2"}]')
    desk.push("long", args=b'[["' + b"x" * 10_000 + b'"],{"password":"hunter2"}]')
    rows = {row.id: row for row in inspect.tasks(TaskQuery()).rows}
    assert rows["short"].args == "1, password=[redacted]"
    assert len(rows["long"].args) < 120
    assert "hunter2" not in repr(rows)


@pytest.mark.parametrize("after", ["!", "e30", "bm90IGpzb24", "x" * 30_000, "eyJkZWZhdWx0IjpbImFnZW5kYSIsIjEiLCJ4Il19"])
def test_a_position_that_is_none_is_refused_or_empty(desk: Desk, after: str) -> None:
    desk.push("t")
    if after == "e30":  # no pool is left: the end of a list
        assert inspect.tasks(TaskQuery(), after=after).rows == ()
    else:
        with pytest.raises(FilterError):
            inspect.tasks(TaskQuery(), after=after)


def test_a_filter_that_cannot_be_right_says_what_to_write() -> None:
    with pytest.raises(FilterError) as raised:
        TaskQuery.from_params({"state": "pendign"})
    assert str(raised.value) == ("The filter is not valid: there is no state 'pendign'; did you mean 'pending'?")
    with pytest.raises(FilterError):
        TaskQuery.from_params({"name": "x" * 201})
    assert TaskQuery.from_params({"state": " failed ", "other": "1"}).params() == {"state": "failed"}


@pytest.mark.parametrize("facet", ["lane", "tag", "error", "id", "pool"])
def test_no_facet_reaches_a_key_that_is_no_index(desk: Desk, facet: str) -> None:
    desk.broker.lane("default", "side", limit=1)
    with pytest.raises(FilterError):
        inspect.tasks(TaskQuery(**{"state": "pending", facet: "side#conf"}))


def test_no_question_walks_a_whole_key(desk: Desk) -> None:
    desk.push("a", "b", tags=("x",))
    desk.lease()
    desk.client.config_resetstat()
    for query in (TaskQuery(), TaskQuery(state="pending", tag="x"), TaskQuery(kind="job"), TaskQuery(id="a")):
        inspect.tasks(query)
    inspect.facets(TaskQuery())
    for question in (inspect.task, inspect.why, inspect.raw):
        question("a")
    for question in (inspect.snapshot, inspect.lanes, inspect.workers, inspect.errors):
        question()
    used = {name.removeprefix("cmdstat_") for name in desk.client.info("commandstats")}
    assert not used & {"keys", "scan", "smembers", "sscan", "hscan", "zscan", "sort"}


def test_facets_count_by_what_is_chosen(desk: Desk) -> None:
    desk.push("a", "b", name="add", tags=("eu",))
    desk.push("c", name="mul", lane="side")
    desk.broker.push([Push(id="m", name="mul", pool="mail")])
    desk.settle(desk.lease())
    everything = inspect.facets(TaskQuery())
    assert dict(everything["state"])["pending"] == 3
    assert dict(everything["name"]) == {"add": 2, "mul": 2}
    assert dict(everything["pool"]) == {"default": 3, "mail": 1}
    assert dict(everything["tag"]) == {"eu": 2}
    assert everything["kind"] == [("task", 4)]
    assert dict(inspect.facets(TaskQuery(state="succeeded"))["name"]) == {"add": 1, "mul": 0}
    assert dict(inspect.facets(TaskQuery(name="add"))["state"])["succeeded"] == 1
    assert dict(inspect.facets(TaskQuery(pool="mail"))["state"])["pending"] == 1


def test_a_count_is_what_choosing_it_would_list_or_there_is_none(desk: Desk) -> None:
    desk.push("a", "b", name="add", tags=("eu",))
    desk.push("c", name="mul", lane="side")
    desk.push("r", "t", name="report", kind="mapreduce")
    desk.settle(desk.lease())
    for query in (
        {},
        {"state": "pending"},
        {"name": "add"},
        {"tag": "eu"},
        {"lane": "side"},
        {"kind": "task"},
        {"lane": "default"},
        {"lane": "side", "state": "pending"},
        {"lane": "side", "name": "mul"},
        {"kind": "mapreduce"},
    ):
        for facet, values in inspect.facets(TaskQuery(**query)).items():
            for value, count in values:
                if count is not None:
                    chosen = TaskQuery(**(query | {facet: value}))
                    assert (query, facet, value, count) == (query, facet, value, len(inspect.tasks(chosen).rows))
    assert dict(inspect.facets(TaskQuery(lane="side"))["state"])["pending"] == 1
    assert dict(inspect.facets(TaskQuery(kind="mapreduce", state="pending"))["state"])["pending"] == 2
    assert dict(inspect.facets(TaskQuery(lane="side", name="mul"))["state"])["pending"] is None


def test_lanes_are_offered_though_nothing_waits_in_them(desk: Desk) -> None:
    desk.push("c", lane="side")
    desk.settle(desk.lease())
    assert inspect.facets(TaskQuery(state="succeeded"))["lane"] == [("side", 1)]
    assert inspect.facets(TaskQuery(state="pending"))["lane"] == [("side", 0)]


def test_asking_never_makes_a_pool_known(desk: Desk) -> None:
    inspect.tasks(TaskQuery(pool="typo"))
    inspect.task("x", "typo")
    inspect.facets(TaskQuery(pool="typo"))
    assert "typo" not in desk.broker.pools()


def test_a_text_is_searched_in_arguments_and_ids(desk: Desk) -> None:
    desk.push("t1", args='[["ORD-42 größe"],{}]'.encode())
    desk.push("t2", args=b'[[],{"order":"ORD-43"}]')
    desk.push("mail-ORD-42")
    assert set(ids(TaskQuery(contains="ORD-42"))) == {"t1", "mail-ORD-42"}
    assert ids(TaskQuery(contains="ord-42")) == []
    assert ids(TaskQuery(contains='"order":"ORD')) == ["t2"]
    assert ids(TaskQuery(contains="größe", state="pending", name="tests.noop")) == ["t1"]
    assert ids(TaskQuery(contains="größe", state="failed")) == []
    assert ids(TaskQuery(contains="ORD-43", id="t1")) == []
    assert [row.id for row in inspect.browse(TaskQuery(contains="ORD-43")).page.rows] == ["t2"]


def test_a_search_does_not_tell_a_secret(desk: Desk) -> None:
    desk.push("t", args=b'[[],{"password":"hunter2","user":"ann"}]')
    desk.push("long", args=b'[["' + b"x" * 5000 + b'"],{"user":"ann"}]')
    assert set(ids(TaskQuery(contains='"user":"ann"'))) == {"t"}
    assert ids(TaskQuery(contains="hunter2")) == []
    with concealing(), pytest.raises(FilterError, match="permission"):
        inspect.browse(TaskQuery(contains="ann"))


def test_long_arguments_are_searched_in_more_calls(desk: Desk) -> None:
    desk.push(*(f"t{number}" for number in range(30)), args=b'[["' + b"x" * 200_000 + b'"],{}]')
    page = inspect.tasks(TaskQuery(contains="needle"))
    assert page.partial
    assert 0 < page.seen < 30
    assert ids(TaskQuery(contains="needle")) == []


def test_no_action_of_workers_takes_a_searched_text(desk: Desk) -> None:
    desk.push("t", args=b'[["ORD-42"],{}]')
    with pytest.raises(FilterError, match="select tasks"):
        control.begin_operation("cancel", TaskQuery(contains="ORD-42"))
