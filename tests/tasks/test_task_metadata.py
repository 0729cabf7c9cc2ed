"""Metadata: what a push says about itself travels to the task, to its children and to its status."""

from __future__ import annotations

import asyncio
import datetime as dt
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from queueops import Batch, Chain, Iterator, MapReduce, Schedule, chain, control, current, group, schedules, task
from queueops.errors import BadOption, NotEncodable, PayloadTooLarge, TaskFailed
from queueops.inspect import task as detail_of
from queueops.model.redact import MASK
from queueops.redis.broker import get_broker
from queueops.tasks.metadata import META_LIMIT, decode_meta
from queueops.testing import eager, run_worker

pytestmark = pytest.mark.usefixtures("seen")
SEEN: dict[str, list[dict]] = {}


@pytest.fixture
def seen():
    SEEN.clear()
    yield SEEN
    SEEN.clear()


def note(what: str) -> None:
    SEEN.setdefault(what, []).append(current().meta)


@task(name="meta.leaf")
def leaf(*_: object) -> None:
    note("leaf")


@task(name="meta.later")
async def later(*_: object) -> None:
    note("later")


@task(name="meta.said", meta={"source": "code", "tenant": "none"})
def said() -> None:
    note("said")


@task(name="meta.parent")
def parent() -> None:
    note("parent")
    current().push(leaf)
    current().push(leaf.using(meta={"tenant": 8, "own": True}))
    current().push(chain(leaf.s(), later.s()))
    current().push_many(later, [(1,), (2,)])
    current().push(Letters, "a", "b")
    leaf.push("a plain push has no parent")


@task(name="meta.twice", retries=1)
def twice() -> None:
    note("twice")
    if len(SEEN["twice"]) == 1:
        current().restart(0)


class Letters(MapReduce):
    """Notes the metadata of each of its steps."""

    def map(self, *letters):
        note("map")
        yield from letters

    def process(self, chunk):
        note("process")

    def reduce(self, results):
        note("reduce")


class Emit(Iterator):
    """Emits one task, once."""

    def iterate(self, state):
        note("iterate")
        return None if state else Batch(state=1, tasks=[leaf.s(), group(later.s())])


class Both(Chain):
    """Two tasks."""

    def init(self):
        return [leaf.s(), later.s()]


GIVEN = {"tenant": 7, "request": "r-1", "by": {"id": 5}}


def test_the_task_and_its_status_have_the_metadata_of_the_push(namespace):
    handle = leaf.using(meta=GIVEN).push()
    plain = leaf.push()
    assert (handle.status().meta, plain.status().meta) == (GIVEN, {})
    run_worker()
    assert SEEN["leaf"] == [GIVEN, {}]
    assert (handle.status().meta, handle.status().as_dict()["meta"]) == (GIVEN, GIVEN)


def test_values_are_plain_json_as_results_are(namespace):
    handle = leaf.using(meta={"day": dt.date(2026, 1, 2), "pair": (1, 2)}).push()
    assert handle.status().meta == {"day": "2026-01-02", "pair": [1, 2]}


def test_a_task_may_say_metadata_that_a_push_replaces(namespace):
    handles = [said.push(), said.using(meta=GIVEN).push(), said.using(meta=None).push()]
    assert [handle.status().meta for handle in handles] == [{"source": "code", "tenant": "none"}, GIVEN, {}]


def test_every_start_of_a_task_has_it(namespace):
    twice.using(meta=GIVEN).push()
    while run_worker():
        pass
    assert SEEN["twice"] == [GIVEN, GIVEN]


@pytest.mark.parametrize("at_once", [True, False])
def test_children_have_it_and_add_to_it(namespace, at_once):
    if at_once:
        with eager():
            parent.using(meta=GIVEN).push()
    else:
        parent.using(meta=GIVEN).push()
        run_worker()
    assert SEEN["parent"] == [GIVEN]
    plain = [meta for meta in SEEN["leaf"] if meta == {}]
    added = [meta for meta in SEEN["leaf"] if meta == GIVEN | {"tenant": 8, "own": True}]
    same = [meta for meta in SEEN["leaf"] if meta == GIVEN]
    assert (len(plain), len(added), len(same), len(SEEN["leaf"])) == (1, 1, 2, 4)
    assert SEEN["later"] == [GIVEN] * 3
    assert (SEEN["map"], SEEN["process"], SEEN["reduce"]) == ([GIVEN], [GIVEN] * 2, [GIVEN])


@pytest.mark.parametrize("at_once", [True, False])
def test_parts_have_that_of_the_whole_and_add_to_it(namespace, at_once):
    whole = chain(leaf.using(meta={"own": 1}).s(), group(later.s(), later.s()).using(meta={"tenant": 8}), leaf.si())
    if at_once:
        with eager():
            whole.using(meta=GIVEN).push()
    else:
        handle = whole.using(meta=GIVEN).push()
        run_worker()
        assert handle.status().meta == GIVEN
    assert SEEN["leaf"] == [GIVEN | {"own": 1}, GIVEN]
    assert SEEN["later"] == [GIVEN | {"tenant": 8}] * 2


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("made", "steps"), [(Emit, {"iterate": 2, "leaf": 1, "later": 1}), (Both, {"leaf": 1, "later": 1})]
)
def test_what_a_class_emits_has_it(namespace, at_once, made, steps):
    if at_once:
        with eager():
            made.using(meta=GIVEN).push()
    else:
        made.using(meta=GIVEN).push()
        run_worker()
    assert {step: len(metas) for step, metas in SEEN.items()} == steps
    assert all(meta == GIVEN for metas in SEEN.values() for meta in metas)


@pytest.mark.parametrize("made", [leaf, Both])
def test_a_schedules_runs_have_it(namespace, made):
    schedules.create(made.using(meta=GIVEN), Schedule("@every 1h"), id="hourly")
    control.run_schedule("hourly")
    run_worker()
    assert SEEN["leaf"] == [GIVEN]


def test_a_retry_and_a_later_push_of_the_id_each_have_their_own(namespace):
    handle = leaf.using(id="x", meta=GIVEN).push()
    run_worker()
    handle.retry()
    leaf.using(id="x", meta={"other": 1}, on_conflict="run_after").push()
    run_worker()
    assert SEEN["leaf"] == [GIVEN, GIVEN, {"other": 1}]


def test_a_changed_copy_changes_nothing(namespace):
    given = {"list": [1]}
    bound = leaf.using(meta=given)
    given["list"].append(2)
    handle = bound.push()
    handle.status().meta["list"].append(3)
    assert handle.status().meta == {"list": [1]}


@pytest.mark.parametrize("wrong", ["x", 5, [("a", 1)], {1: 2}, {"": 1}])
def test_metadata_is_a_dict_with_texts_as_keys(wrong):
    with pytest.raises(BadOption, match=r"The option meta is .*, but it must be a dict whose keys are texts"):
        leaf.using(meta=wrong)
    with pytest.raises(BadOption, match="The option meta"):
        task(name="x", meta=wrong)(note)


def test_what_json_lacks_is_refused_with_its_place():
    with pytest.raises(
        NotEncodable, match=r"The metadata of a push cannot be stored: meta\['user'\] is an? User\. Pass its"
    ):
        leaf.using(meta={"user": User(pk=1)})
    with pytest.raises(NotEncodable, match=r"meta\['x'\] is a float \(nan\)"):
        leaf.using(meta={"x": float("nan")})


def test_its_size_is_bounded(namespace):
    room = META_LIMIT - len('{"a":""}')
    assert leaf.using(meta={"a": "x" * room}).push().status().meta == {"a": "x" * room}
    with pytest.raises(
        PayloadTooLarge, match=f"The metadata of a push came to {META_LIMIT + 1} bytes, the limit is {META_LIMIT}"
    ):
        leaf.using(meta={"a": "x" * (room + 1)})


def test_a_child_that_adds_too_much_is_refused(namespace):
    @task(name="meta.greedy", retries=0)
    def greedy():
        current().push(leaf.using(meta={"b": "y" * (META_LIMIT // 2)}))

    handle = greedy.using(meta={"a": "x" * (META_LIMIT // 2)}).push()
    run_worker()
    with pytest.raises(TaskFailed, match="The metadata of a push came to"):
        handle.result(timeout=0)


@pytest.mark.parametrize("data", [b"", b"default", b"[1]", b"{", b"\xff", b"7"])
def test_what_is_no_metadata_counts_as_none(namespace, data):
    """The backend of django.tasks writes its alias there."""
    assert decode_meta(data) == {}
    handle = leaf.using(meta=GIVEN).push()
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "me", data)
    assert handle.status().meta == {}
    run_worker()
    assert SEEN["leaf"] == [{}]


def test_it_is_shown_redacted_where_arguments_are(namespace):
    handle = leaf.using(meta={"tenant": 7, "token": "secret"}).push()
    assert json.loads(detail_of(handle.id).meta) == {"tenant": 7, "token": MASK}


def test_it_is_pushed_from_async_code(namespace):
    assert asyncio.run(leaf.using(meta=GIVEN).apush()).status().meta == GIVEN


def test_the_terminal_shows_it_redacted(namespace, capsys):
    handle = leaf.using(meta={"tenant": "seven", "token": "hunter2"}).push()
    call_command("queue", "show", handle.id)
    shown = capsys.readouterr().out
    assert "metadata" in shown
    assert "seven" in shown
    assert "hunter2" not in shown
