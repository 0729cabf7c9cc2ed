"""Values that an annotation does not bring back from JSON: refused at the push, and as a result."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, TypedDict

import msgspec
import pytest
from django.utils.functional import lazystr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import queueops
from queueops import Batch, MapReduce, chain, task
from queueops.errors import BadArguments, TaskFailed
from queueops.model.contracts import Push
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.tasks.encoding import encode_arguments
from queueops.tasks.signature import ArgumentSpec
from queueops.testing import eager, run_worker
from tests.support.for_each import for_each


class Number(IntEnum):
    ONE = 1


class Text(StrEnum):
    A = "a"


class Colour(Enum):
    RED = "red"


@dataclass(eq=False)
class Overrides:
    fields: dict | None = None
    day: dt.date | None = None


class Row(msgspec.Struct):
    values: list


class Model(BaseModel):
    values: dict


class Named(TypedDict):
    name: str
    more: Any


def spec(annotation: Any) -> ArgumentSpec:
    def func(files): ...

    func.__annotations__["files"] = annotation
    return ArgumentSpec(func, "send")


REFUSED = [
    (dict, {"file": ("a.pdf", b"\0", "application/pdf")}, "files['file'][1]: a bytes"),
    (dict | None, {1: "x"}, "the key 1 of files: an int"),
    (dict, {"a": [{2.5: "x"}]}, "the key 2.5 of files['a'][0]: a float"),
    (dict, {b"k": 1}, "the key b'k' of files: a bytes"),
    (list, [bytearray(b"x")], "files[0]: a bytearray"),
    (list, {b"x"}, "files[0]: a bytes"),
    (list, [dt.date(2026, 1, 2)], "files[0]: a date"),
    (tuple, (1, Decimal(2)), "files[1]: a Decimal"),
    (dict[str, Any], {"a": uuid.UUID(int=1)}, "files['a']: a UUID"),
    (dict[str, Any], {"a": {1, 2}}, "files['a']: a set"),
    (dict[str, Any], {"a": Colour.RED}, "files['a']: a Colour"),
    (dict[int, dict], {1: {2: "x"}}, "the key 2 of files[1]: an int"),
    (dict[str, str], {1: "x"}, "the key 1 of files: an int"),
    (dict[str, str], {"a": b"x"}, "files['a']: a bytes"),
    (str, b"x", "files: a bytes"),
    (list[dict], [{"a": Overrides()}], "files[0]['a']: an Overrides"),
    (Overrides, Overrides(fields={1: "x"}), "the key 1 of files.fields: an int"),
    (Row, Row([b"x"]), "files.values[0]: a bytes"),
    (Model, Model(values={1: "x"}), "the key 1 of files.values: an int"),
    (Named, {"name": "x", "more": b"x"}, "files['more']: a bytes"),
    (dt.date | str, b"x", "files: a bytes"),
]


@for_each(("annotation", "value", "text"), REFUSED)
def test_what_the_annotation_does_not_bring_back_is_refused_with_its_path(annotation, value, text):
    plan = spec(annotation)
    for args, kwargs in [((value,), {}), ((), {"files": value})]:
        with pytest.raises(BadArguments) as caught:
            plan.encode(args, kwargs)
        assert f"{text} cannot be restored by the annotation " in str(caught.value)


@for_each(
    ("annotation", "value"),
    [
        (dict, {"a": [1, 2.5, True, None, "x", (1, 2), {"b": {}}]}),
        (dict, {Text.A: Number.ONE, "b": lazystr("x")}),
        (dict[int, bytes], {1: b"x"}),
        (dict[dt.date, list[Decimal]], {dt.date(2026, 1, 2): [Decimal("1.50")]}),
        (list[dict[int, Any]], [{1: {"a": 1}}]),
        (set[bytes], {b"x"}),
        (Iterable[int], {1, 2}),
        (list, frozenset({1})),
        (tuple[str, bytes, str], ("a.pdf", b"\0", "application/pdf")),
        (Overrides, Overrides(fields={"1": "x"}, day=dt.date(2026, 1, 2))),
        (Overrides, {"fields": {"a": 1}, "day": "2026-01-02"}),
        (str, uuid.UUID(int=1)),
        (dict[str, str], {uuid.UUID(int=1): dt.date(2026, 1, 2)}),
        (Any, {1: b"x"}),
    ],
)
def test_what_the_annotation_brings_back_or_asks_for_is_pushed(annotation, value):
    plan = spec(annotation)
    assert plan.encode((value,), {}) == encode_arguments("send", (value,), {})
    plan.encode((), {"files": value})


def test_more_arguments_have_their_number_and_their_name():
    def func(first, *more: dict, **named: dict): ...

    plan = ArgumentSpec(func, "send")
    with pytest.raises(BadArguments, match=r"argument 3\['a'\]: a bytes"):
        plan.encode((b"free", {}, {"a": b"x"}), {})
    with pytest.raises(BadArguments, match="the key 1 of extra: an int"):
        plan.encode((b"free",), {"extra": {1: "x"}})
    assert plan.encode((b"free", {}), {"extra": {}})


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text(max_size=3), PLAIN, max_size=3))
def test_plain_json_is_never_refused(value: dict[str, Any]) -> None:
    plan = spec(dict)
    assert plan.decode(plan.encode((value,), {}))[0] == [value]


ANYTHING = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=2) | st.binary(max_size=2) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2) | st.integers(0, 9), inner, max_size=3)
    ),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANYTHING)
def test_what_is_not_refused_comes_back_equal(value: Any) -> None:
    plan = spec(dict[str, Any] if isinstance(value, dict) else list)
    try:
        data = plan.encode((value if isinstance(value, dict) else [value],), {})
    except BadArguments:
        return
    assert plan.decode(data)[0] == [value if isinstance(value, dict) else [value]]


@pytest.fixture
def tasks(namespace):
    made = []

    def make(annotation, value, **options):
        def give():
            return value

        give.__annotations__["return"] = annotation
        give.__qualname__ = f"give{len(made)}"
        made.append(task(**options)(give))
        return made[-1]

    yield make
    for one in made:
        registry.unregister("task", one.name)


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (dict, {"a": b"x"}, "it['a'] is a bytes"),
        (dict | None, {1: "x"}, "the key 1 of it is an int"),
        (list[dict], [{"a": dt.date(2026, 1, 2)}], "it[0]['a'] is a date"),
        (str, b"x", "it is a bytes"),
        (Overrides, Overrides(fields={1: 2}), "the key 1 of it.fields is an int"),
    ],
)
@pytest.mark.parametrize("is_eager", [False, True])
def test_a_result_that_its_annotation_does_not_bring_back_fails_at_once(tasks, annotation, value, text, is_eager):
    made = tasks(annotation, value, retries=5)
    if is_eager:
        with eager():
            handle = made.push()
            status = handle.status()
    else:
        handle = made.push()
        run_worker()
        status = handle.status()
    assert (status.state, status.attempt) == ("failed", 1)
    assert text in status.error
    assert "annotation" in status.error


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(dict, {"a": (1, 2)}), (dict[int, bytes], {1: b"x"}), (Any, {1: b"x"}), (int, {1: b"x"}), (None, {1: b"x"})],
)
def test_a_result_that_fits_or_has_no_annotation_is_stored_as_ever(tasks, annotation, value):
    made = tasks(annotation, value)
    if annotation is None:
        del made.handler.func.__annotations__["return"]
    handle = made.push()
    run_worker()
    assert handle.state == "succeeded"


def test_the_yields_of_a_generator_are_checked_too(namespace):
    @task(name="lossy.generator", retries=5)
    def generate() -> Iterator[dict]:
        yield {"a": 1}
        yield {1: "x"}

    handle = generate.push()
    run_worker()
    registry.unregister("task", generate.name)
    with pytest.raises(TaskFailed, match=r"the key 1 of it\[1\] is an int"):
        handle.result(timeout=0)


def test_the_result_of_a_reduce_is_checked_too(namespace):
    class Sums(MapReduce):
        """Of one chunk."""

        def process(self, chunk: Any) -> Any:
            return chunk

        def reduce(self, results: Any) -> dict:
            return {1: list(results)}

    handle = Sums.push(3)
    run_worker()
    for kind in ("mapreduce", "chunk", "reduce"):
        registry.unregister(kind, Sums.name)
    with pytest.raises(TaskFailed, match="the key 1 of it is an int"):
        handle.result(timeout=0)


@pytest.mark.parametrize(
    ("chunk", "result", "said"),
    [
        ({"a": b"x"}, None, r"chunk 0 .* it\['a'\] is a bytes"),
        ({"a": 1}, {1: 2}, "the key 1 of it is an int"),
        ({"a": 1}, {"b": [2.5]}, ""),
    ],
)
@pytest.mark.parametrize("has_annotations", [True, False])
def test_a_chunk_and_its_result_are_refused_if_their_annotation_does_not_bring_them_back(
    namespace, chunk, result, said, has_annotations
):
    class Sums(MapReduce):
        """Of one chunk."""

        def map(self) -> Iterator[Any]:
            yield chunk

        def process(self, chunk: dict) -> dict | None:
            return result

        def reduce(self, results: Any) -> int:
            return len(results)

    if not has_annotations:
        Sums.process.__annotations__.clear()
    handle = Sums.push()
    run_worker()
    for kind in ("mapreduce", "chunk", "reduce"):
        registry.unregister(kind, Sums.name)
    if said and has_annotations:
        with pytest.raises(TaskFailed, match=said):
            handle.result(timeout=0)
    else:
        assert handle.result(timeout=0) == 1


@pytest.mark.parametrize("has_annotations", [True, False])
def test_a_state_of_an_iterator_is_refused_if_its_annotation_does_not_bring_it_back(namespace, has_annotations):
    class Steps(queueops.Iterator):
        """Two steps."""

        def iterate(self, state: dict | None) -> Batch | None:
            return None if state else Batch({1: "x"})

    if not has_annotations:
        Steps.iterate.__annotations__.clear()
    handle = Steps.push()
    run_worker()
    registry.unregister("iterator", Steps.name)
    if has_annotations:
        with pytest.raises(TaskFailed, match="the key 1 of it is an int"):
            handle.result(timeout=0)
    else:
        assert handle.state == "postponed"  # it waits for the end of a task, and has none


def test_the_arguments_of_a_part_are_refused_where_it_is_made(tasks):
    @task(name="lossy.part")
    def part(previous: Any, files: dict) -> None: ...

    first = tasks(int, 1)
    with pytest.raises(BadArguments, match=r"files\['a'\]: a bytes"):
        chain(first.s(), part.s(files={"a": b"x"})).push()
    registry.unregister("task", part.name)


def test_a_task_that_waits_already_still_runs(namespace):
    @task(name="lossy.waits")
    def waits(files: dict) -> list[str]:
        return list(files.values())

    get_broker().push([Push(id="x", name=waits.name, args=encode_arguments("t", ({"a": b"x"},), {}))])
    run_worker()
    registry.unregister("task", waits.name)
    assert get_broker().record("default", "x").state == "succeeded"
