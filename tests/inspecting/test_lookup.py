"""What the find box finds, by one call of each pool."""

from __future__ import annotations

from queueops import inspect, jobs, wf, workflow
from queueops.inspect.new_marks import seen
from queueops.model.contracts import Outcome
from tests.inspecting.errors import stored
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support.monitoring import round_trips


def test_a_task_is_found_by_its_id_and_others_by_the_beginning_of_theirs(desk: Desk) -> None:
    desk.push("order-1", "order-17", "order-18", "other")
    Desk(desk.broker, "far").push("order-1")
    found = inspect.look_up("order-1")
    assert {(task.id, task.pool) for task in found.tasks} == {("order-1", "default"), ("order-1", "far")}
    assert {task.id for task in found.begun} == {"order-1", "order-17", "order-18"}
    assert inspect.look_up("order-1#4", id="order-18").tasks[0].id == "order-18"
    assert inspect.look_up("or").begun == ()
    assert (inspect.look_up("AR").pools, inspect.look_up("order-1").pools) == (("far",), ())
    assert inspect.look_up("order *").tasks == ()


def test_names_lanes_workers_and_errors_are_found_by_a_part_in_any_case(desk: Desk) -> None:
    beat(desk, "Host:1", host="Mailhost", names="shop.Mailer,shop.other")
    desk.push("a", name="shop.sendmail", lane="bulkMail")
    desk.push("b", lane="other", tags=("mailing", "mail", "x"))
    failed, _ = desk.claim(2)
    desk.settle(failed, Outcome.ERROR, delay_ms=-1, **stored("f1", "secret of a task", "app.MailError"))
    found = inspect.look_up("MAIL")
    assert [name for name in found.names if name.startswith("shop.")] == ["shop.Mailer", "shop.sendmail"]
    assert [(lane.name, lane.about) for lane in found.lanes] == [("bulkMail", "default")]
    assert [(worker.name, worker.about) for worker in found.workers] == [("Host:1", "Mailhost")]
    assert [(error.name, error.id, error.about) for error in found.errors] == [
        ("app.MailError", "f1", "shop.sendmail"),
    ]
    assert (found.tags, inspect.look_up("mail").tags) == (("mailing", "mail"), ("mail", "mailing"))
    assert inspect.look_up("secret").errors == ()
    assert [error.id for error in inspect.look_up("f1").errors] == ["f1"]


def test_a_pattern_is_taken_as_it_stands(desk: Desk) -> None:
    desk.push("a", lane="a.b")
    assert [lane.name for lane in inspect.look_up(".b").lanes] == ["a.b"]
    assert inspect.look_up("a%.b").lanes == ()
    assert inspect.look_up("^a").lanes == ()


def test_it_costs_two_round_trips_and_no_whole_key(desk: Desk) -> None:
    for start in range(0, 1500, 500):
        desk.push(*[f"t{number}" for number in range(start, start + 500)], name="f.noop")
    for pool in ("b", "c"):
        Desk(desk.broker, pool).push("t1")
    inspect.look_up("t1")
    asked = round_trips(desk, lambda: inspect.look_up("t1"))
    assert len(asked.sent) <= 1 + 3  # the list of pools, and a call of each pool, in one pipeline
    assert asked.whole == []
    assert len(asked.inside) < 300


def test_any_of_ten_thousand_aggregations_is_found_by_a_part_of_its_id(desk: Desk) -> None:
    jobs.submit(url="http://8.8.8.8/a", aggregation="Kiosk & Co: Nord")  # its lane has a digest for a name
    jobs.submit(url="http://8.8.8.8/b", aggregation="shop-first")
    lanes = {f"aggr:shop-{number}": desk.now() + 1000 + number for number in range(10_000)}
    desk.client.zadd(f"{desk.keys.prefix}:lanes", lanes)
    assert [lane.name for lane in inspect.look_up("op-firs").lanes] == ["aggr:shop-first"]
    (hit,) = inspect.look_up("& co: n").lanes
    assert (hit.title, hit.name[:6]) == ("Kiosk & Co: Nord", "aggr:=")
    assert len(inspect.look_up("shop-").lanes) == 20
    asked = round_trips(desk, lambda: inspect.look_up("shop-first"))
    assert len(asked.sent) <= 2
    assert asked.whole == []
    assert len(asked.inside) < 400


def test_a_worker_is_found_by_its_process_and_after_its_end(desk: Desk) -> None:
    beat(desk, "a:700:0:cafe", host="a", pid=4711, started=desk.now())
    beat(desk, "b:4712:0:beef", host="b", pid=4712, started=desk.now())
    desk.broker.keep_marks("default", (), seen("default").starts)
    assert [(hit.name, hit.process, hit.ended) for hit in inspect.look_up("4711").workers] == [
        ("a:700:0:cafe", "4711", False)
    ]
    assert inspect.look_up("471").workers[0].name == "b:4712:0:beef"  # a part of its id, not of its process
    desk.client.zrem(f"{desk.keys.prefix}:workers", "a:700:0:cafe")
    desk.client.delete(f"{desk.keys.prefix}:worker:a:700:0:cafe")
    for text in ("4711", "A:700", "cafe"):
        (hit,) = inspect.look_up(text).workers
        assert (hit.name, hit.about, hit.process, hit.ended) == ("a:700:0:cafe", "a", "4711", True)
    assert [hit.ended for hit in inspect.look_up(":0:").workers] == [False, True]
    assert len(inspect.look_up(":0:", most=1).workers) == 1


def test_unreadable_marks_of_starts_are_left_out(desk: Desk) -> None:
    desk.client.zadd(f"{desk.keys.prefix}:marks:starts", {"{": 1, "7": 2, '["start", null, 3]': 3})
    assert inspect.look_up("start").workers == ()


@workflow(name="find.run")
async def run() -> None:
    """Wait for a signal."""
    await wf.signal("go")


def test_the_newest_run_of_an_instance_is_found_in_few_round_trips(desk: Desk) -> None:
    id = run.using(id="order:17").start().id
    inspect.look_up("order:17")
    asked = round_trips(desk, lambda: inspect.look_up("order:17"))
    assert len(asked.sent) <= 2
    assert asked.whole == []
    (found,) = inspect.look_up("order:17").others
    assert [(row.id, row.name) for row in found.rows] == [(id, "find.run")]
    assert inspect.look_up("order:1").others == ()
    desk.client.hset(f"{desk.keys.prefix}:instances", "order:18", "gone")
    assert inspect.look_up("order:18").others == ()
