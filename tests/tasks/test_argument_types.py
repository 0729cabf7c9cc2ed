"""Paths, IP addresses and models of pydantic as arguments and results."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress as ip
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, Field

from queueops import Iterator, task
from queueops.errors import BadArguments, TaskFailed
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.tasks.encoding import decode_arguments, encode_arguments, encode_result
from queueops.tasks.signature import ArgumentSpec
from queueops.testing import eager, run_worker
from tests.support.for_each import for_each


def round_trip(func, *args, **kwargs):
    plan = ArgumentSpec(func, "t")
    return plan.decode(plan.encode(args, kwargs))


@for_each(
    ("value", "stored"),
    [
        (Path("a/b.txt"), "a/b.txt"),
        (PurePosixPath("/x"), "/x"),
        (ip.ip_address("10.0.0.1"), "10.0.0.1"),
        (ip.ip_address("::1"), "::1"),
        (ip.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
        (ip.ip_interface("10.0.0.1/8"), "10.0.0.1/8"),
    ],
)
def test_paths_and_addresses_are_stored_as_texts(value, stored):
    assert decode_arguments("t", encode_arguments("t", [value], {"named": value})) == ([stored], {"named": stored})
    assert encode_result("t", {"it": value}) == msgspec.json.encode({"it": stored})


def test_paths_and_addresses_come_back_as_their_annotations_say():
    def func(
        a: Path,
        b: PurePath,
        c: IPv4Address,
        d: IPv6Network | None,
        e: list[Path],
        f: dict[str, IPv4Network],
        *rest: IPv4Interface,
    ): ...

    given = (
        Path("a"),
        PurePath("b"),
        IPv4Address("10.0.0.1"),
        None,
        [Path("c"), Path("/d")],
        {"x": IPv4Network("10.0.0.0/8")},
        IPv4Interface("10.0.0.1/8"),
    )
    assert round_trip(func, *given) == (list(given), {})
    assert round_trip(func, "a", "b", "10.0.0.1", "::/8", ["c"], {})[0][:4] == [
        Path("a"),
        PurePath("b"),
        IPv4Address("10.0.0.1"),
        IPv6Network("::/8"),
    ]


@for_each(
    ("annotation", "values"),
    [
        (IPv4Address | IPv6Address, [ip.ip_address("10.0.0.1"), ip.ip_address("::1")]),
        (IPv6Address | IPv4Address | None, [ip.ip_address("10.0.0.1"), None]),
        (IPv4Network | IPv6Network, [ip.ip_network("10.0.0.0/8"), ip.ip_network("::/8")]),
        (IPv4Interface | ip.IPv6Interface, [ip.ip_interface("10.0.0.1/8"), ip.ip_interface("::1/8")]),
    ],
)
def test_an_address_of_either_version_comes_back_as_what_it_was(annotation, values):
    def func(address): ...

    func.__annotations__["address"] = annotation
    for value in values:
        assert round_trip(func, value) == ([value], {})
    with pytest.raises(BadArguments, match="address"):
        ArgumentSpec(func, "t").encode(["localhost"], {})


def test_results_are_paths_addresses_and_models_again(namespace, order_tasks):
    @task(name="tests.where")
    def where(name: str) -> Path:
        return Path("/") / name

    @task(name="tests.which")
    def which(name: str) -> IPv4Address | IPv6Address:
        return ip.ip_address(name)

    handles = [where.push("a"), which.push("::1"), which.push("10.0.0.1"), order_tasks["sync"].push(Order(number=1))]
    run_worker()
    results = [handle.result(timeout=0) for handle in handles]
    assert results == [Path("/a"), IPv6Address("::1"), IPv4Address("10.0.0.1"), Order(number=2)]
    for name in (where.name, which.name):
        registry.unregister("task", name)


@for_each(("annotation", "wrong"), [(Path, 5), (IPv4Address, 5), (IPv4Address, "::1"), (IPv4Network, "x")])
def test_what_is_not_a_path_or_an_address_is_refused_at_the_push(annotation, wrong):
    def func(it): ...

    func.__annotations__["it"] = annotation
    with pytest.raises(BadArguments, match=r"cannot be called with these arguments: it"):
        ArgumentSpec(func, "t").encode([wrong], {})


@pytest.mark.parametrize("value", [Path("a"), ip.ip_address("10.0.0.1")])
def test_a_path_that_an_annotation_cannot_bring_back_is_refused(value: Any):
    def func(it: Path | str | IPv4Address): ...

    with pytest.raises(BadArguments, match=r"cannot be restored by the annotation"):
        ArgumentSpec(func, "t").encode([value], {})


def test_the_arguments_of_an_iterator_are_converted_too(namespace):
    seen: list[Any] = []

    class Days(Iterator):
        """Emits nothing."""

        def iterate(self, state: Any, since: dt.date, *, folder: Path = Path()) -> None:
            seen.append((since, folder))

    with pytest.raises(BadArguments, match="since"):
        Days.push("yesterday")
    Days.push(dt.date(2026, 1, 2), folder=Path("a"))
    run_worker()
    registry.unregister("iterator", Days.name)
    assert seen == [(dt.date(2026, 1, 2), Path("a"))]


class Line(BaseModel):
    product: str
    count: int = Field(gt=0)


class Order(BaseModel):
    number: int
    lines: list[Line] = []
    notes: dict[str, Line] = {}


received: list[Any] = []


@pytest.fixture
def order_tasks():
    """A sync and an async task that take models and give one back."""
    received.clear()

    @task(name="tests.order", retries=0)
    def order(order: Order, line: Line | None = None, *, more: list[Line] = []) -> Order:  # noqa: B006
        received.append((order, line, more))
        return Order(number=order.number + 1, lines=[*order.lines, *more])

    @task(name="tests.order_later", retries=0)
    async def later(order: Order, line: Line | None = None, *, more: list[Line] = []) -> Order:  # noqa: B006
        return order_plainly(order, line, more=more)

    order_plainly = order.handler.func
    yield {"sync": order, "async": later}
    registry.unregister("task", order.name)
    registry.unregister("task", later.name)


FORMS = [
    ((Order(number=1), Line(product="a", count=2)), {"more": [Line(product="b", count=1)]}),
    ((Order(number=1),), {"line": Line(product="a", count=2), "more": [{"product": "b", "count": 1}]}),
    ((), {"order": {"number": 1}, "line": {"product": "a", "count": "2"}, "more": [Line(product="b", count=1)]}),
]


@pytest.mark.parametrize("sort", ["sync", "async"])
@pytest.mark.parametrize(("args", "kwargs"), FORMS)
def test_models_of_pydantic_are_arguments_and_results(namespace, order_tasks, sort, args, kwargs):
    handle = order_tasks[sort].push(*args, **kwargs)
    run_worker()
    assert received == [(Order(number=1), Line(product="a", count=2), [Line(product="b", count=1)])]
    stored = get_broker().record("default", handle.id).result
    assert msgspec.json.decode(stored) == {"number": 2, "lines": [{"product": "b", "count": 1}], "notes": {}}


@pytest.mark.parametrize("sort", ["sync", "async"])
def test_models_of_pydantic_are_arguments_of_eager_tasks(order_tasks, sort):
    with eager():
        order_tasks[sort].push(Order(number=1, notes={"x": Line(product="a", count=1)}))
    assert received == [(Order(number=1, notes={"x": Line(product="a", count=1)}), None, [])]


def test_a_model_that_is_not_valid_is_refused_at_the_push(namespace, order_tasks, redis_client):
    for wrong in ({"number": "x"}, {"number": 1, "lines": [{"product": "a", "count": 0}]}, 5):
        with pytest.raises(BadArguments, match=r"tests\.order\(\) cannot be called with these arguments: order"):
            order_tasks["sync"].push(wrong)
        with pytest.raises(BadArguments):
            asyncio.run(order_tasks["async"].apush(wrong))
    assert redis_client.keys(f"*{namespace}*:task:*") == []


@pytest.mark.parametrize("sort", ["sync", "async"])
def test_a_model_that_is_no_longer_valid_fails_the_task_before_its_body(namespace, order_tasks, sort):
    handle = order_tasks[sort].push(Order(number=1))
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "a", b'[[{"number": "x"}],{}]')
    run_worker()
    assert (received, handle.state) == ([], State.FAILED)
    with pytest.raises(TaskFailed, match=r"order: 1 validation error for Order\nnumber"):
        handle.result(timeout=0)
