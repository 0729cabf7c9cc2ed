"""QUEUEOPS["ENCODER"]: classes of the project as arguments and results."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils.html import strip_tags

from queueops import MapReduce, checks, control, get, inspect, task
from queueops.errors import BadArguments, NotEncodable, TaskFailed
from queueops.kinds.mapreduce.options import Results
from queueops.model.contracts import Push
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.testing import run_worker
from queueops.testing.conformance import EncoderConformance
from tests.stores.money import Box, Circle, Money, MoneyEncoder, Shape, Sku

PATH = f"{MoneyEncoder.__module__}.{MoneyEncoder.__qualname__}"


class TestMoneyEncoder(EncoderConformance):
    """The example."""

    encoder = PATH
    values: Sequence[Any] = (Money(Decimal("1.50"), "EUR"), Circle(Money(Decimal(2), "CHF")), Sku("7"), Box(1))


class Counting(MoneyEncoder):
    """Never gives the same."""

    count = 0

    def encode(self, value: Any) -> Any:
        self.count += 1
        return {**super().encode(value), "number": self.count}


class Older(MoneyEncoder):
    """Knows the older form, too."""

    def decode(self, wanted: type, data: Any) -> Any:
        return Money(Decimal(data["sum"]), data["currency"])


class Rounding(MoneyEncoder):
    """Loses a part of the value."""

    def decode(self, wanted: type, data: Any) -> Any:
        return Money(Decimal(round(float(data["amount"]))), data["currency"]) if wanted is Money else None


class Raising(MoneyEncoder):
    """Raises, in both directions."""

    def encode(self, value: Any) -> Any:
        return {}["amount"]

    def decode(self, wanted: type, data: Any) -> Any:
        raise AttributeError("no such column")


class Returning(MoneyEncoder):
    """Gives back what it was given."""

    def encode(self, value: Any) -> Any:
        return value


class Endless(MoneyEncoder):
    """Gives its own class, in a dict."""

    def encode(self, value: Any) -> Any:
        return {"money": Money(Decimal(1), "EUR")}


class Infinite(MoneyEncoder):
    """Gives what JSON does not have."""

    def encode(self, value: Any) -> Any:
        return {"amount": [float("inf")]}


class Typeless(MoneyEncoder):
    """Names no class."""

    types = ("Money",)  # type: ignore[assignment]


class Native(MoneyEncoder):
    """Names a class that QueueOps stores itself."""

    types = (Money, Decimal)


class Prices(dict[str, Money]):
    """JSON is written of it without an encoder."""


class Contained(MoneyEncoder):
    """Names a class whose values it would never see."""

    types = (Money, Prices)


class Demanding(MoneyEncoder):
    """Wants an argument."""

    def __init__(self, currency: str) -> None: ...


def path_of(encoder: type) -> str:
    return f"{encoder.__module__}.{encoder.__qualname__}"


@pytest.fixture
def chosen(namespace: str, settings: Any) -> Iterator[None]:
    """The encoder, and the names of the tasks that a test defines."""
    settings.QUEUEOPS = {**settings.QUEUEOPS, "ENCODER": PATH}
    before = set(registry.handlers())
    yield
    for kind, name in set(registry.handlers()) - before:
        registry.unregister(kind, name)


def changed(settings: Any, encoder: str) -> Any:
    return override_settings(QUEUEOPS={**settings.QUEUEOPS, "ENCODER": encoder})


def test_the_suite_notices_an_encoder_that_breaks_a_promise(settings: Any) -> None:
    """Not the same twice, not the same again, and one that raises."""
    suite = TestMoneyEncoder()
    suite.values = (Money(Decimal("1.50"), "EUR"),)
    for encoder, name in (
        (Counting, "test_the_same_value_is_stored_as_the_same_text"),
        (Rounding, "test_the_same_value_is_stored_as_the_same_text"),
        (Infinite, "test_a_value_is_stored_as_json"),
        (MoneyEncoder, "test_each_class_has_a_value"),
    ):
        suite.encoder = path_of(encoder)
        with changed(settings, suite.encoder), pytest.raises((AssertionError, BadArguments, NotEncodable)):
            getattr(suite, name)()


def test_values_of_the_project_reach_tasks_and_come_back(chosen: None) -> None:
    """As arguments, within others, and as results. They are stored as JSON."""

    @task
    def double(
        price: Money, *more: list[Money], name: Sku, shape: Shape | None = None, box: Box[str] | None = None
    ) -> dict[str, Money]:
        assert type(name) is Sku
        assert box is not None
        assert box.content == "c"
        assert isinstance(shape, Circle)
        return {name: Money(price.amount + more[0][0].amount + shape.price.amount, price.currency)}

    price = Money(Decimal("1.50"), "EUR")
    handle = double.push(price, [price], name=Sku("a"), shape=Circle(price), box=Box("c"))
    run_worker()
    found = handle.result(0)
    assert (type(found["a"]), found["a"].amount, found["a"].currency) == (Money, Decimal("4.50"), "EUR")
    record = get_broker().record("default", handle.id)
    assert record is not None
    assert record.args == (
        b'[[{"amount":"1.50","currency":"EUR"},[{"amount":"1.50","currency":"EUR"}]],'
        b'{"name":"sku:a","shape":{"circle":{"amount":"1.50","currency":"EUR"}},"box":["c"]}]'
    )


def test_chunks_and_their_results_have_the_types_of_process(chosen: None) -> None:
    """A value that does not fit is refused where it is made, and a stored one that does not is named."""

    class Total(MapReduce):
        name = "encoders.Total"

        def map(self, prices: list[Money], last: Any = None) -> Iterator[Any]:
            yield from ([price] for price in prices)
            if last is not None:
                yield last

        def process(self, chunk: list[Money]) -> dict[str, Money]:
            (price,) = chunk
            if price.currency == "?":
                return {"total": "nothing"}  # type: ignore[dict-item]
            return {"total": Money(price.amount * 2, price.currency)}

        def reduce(self, results: Results) -> Money:
            return Money(sum((each["total"].amount for each in results), Decimal()), "EUR")

    prices = [Money(Decimal(number), "EUR") for number in range(1, 4)]
    assert Total.task(prices).amount == 12
    total, unfit, edited = Total.push(prices), Total.push(prices, {"amount": 1}), Total.push([Money(Decimal(7), "?")])
    run_worker()
    assert total.result(0).amount == 12
    with pytest.raises(
        TaskFailed, match=r"The chunk 3 of encoders\.Total cannot be stored: it is a dict\. It does not"
    ):
        unfit.result(0)
    with pytest.raises(TaskFailed):
        edited.result(0)
    (chunk,) = inspect.chunks(edited.id).rows
    assert "cannot be stored: it is a dict. It does not fit the annotation dict[str, " in chunk.error.message
    control.edit_chunks(edited.id, [{"sum": "1.50"}], [0])
    run_worker()
    (chunk,) = inspect.chunks(edited.id).rows
    said = f"its chunk: the encoder {PATH} raised KeyError: 'amount'"
    assert f"encoders.Total.process() cannot be called with these arguments: {said}" in chunk.error.message


def test_a_map_whose_chunk_does_not_come_back_is_not_tried_again(chosen: None) -> None:
    """It would give the same chunk each time."""

    class Lossy(MapReduce):
        name = "encoders.Lossy"
        retries = 3

        def map(self) -> Iterator[Any]:
            yield Money(Decimal(1), "EUR"), {1: 2}

        def process(self, chunk: tuple[Money, Any]) -> int:
            return 1

        def reduce(self, results: Results) -> int:
            return 1

    lossy = Lossy.push()
    run_worker()
    with pytest.raises(
        TaskFailed, match=r"The chunk 0 of encoders\.Lossy cannot be stored: the key 1 of it\[1\] is an"
    ):
        lossy.result(0)


def test_an_encoder_that_cannot_be_used_is_an_error_of_the_check(settings: Any) -> None:
    """Each says what is expected, and a push says the same."""
    for encoder, said in (
        ("tests.stores.money.Missing", "a class that can be imported (ImportError: "),
        (path_of(Demanding), "a class that can be called without arguments (TypeError: "),
        ("tests.stores.money.Money", "a class that can be called without arguments (TypeError: "),
        ("tests.stores.money.Shape", "a class with the methods encode and decode; encode and decode cannot be called"),
        (path_of(Typeless), "a class with a tuple of classes in types, and not ('Money',)"),
        (path_of(Native), "an encoder of other classes: QueueOps itself stores Decimal, so leave it out of types"),
        (path_of(Contained), "an encoder of other classes: QueueOps itself stores Prices, so leave it out of types"),
    ):
        with changed(settings, encoder):
            (message,) = [found for found in checks.check_environment() if found.id == "queueops.E013"]
            assert said in message.msg
    with changed(settings, "one"):
        (message,) = checks.check_settings()
        assert 'a dotted path, such as "shop.encoders.MoneyEncoder"' in message.msg


def test_a_faulty_encoder_refuses_the_push(chosen: None, settings: Any) -> None:
    """Nothing is stored, and the error names the value and the encoder."""

    def pay(price: Money) -> None: ...

    price = Money(Decimal("1.50"), "EUR")
    for encoder, error, said in (
        (Raising, NotEncodable, "raised KeyError: 'amount'."),
        (Returning, NotEncodable, "gave the same type back, and not what JSON has."),
        (Infinite, NotEncodable, "gave NaN or infinity, which JSON does not have."),
        (Rounding, BadArguments, "makes another value of it: its decode must undo its encode."),
    ):
        with changed(settings, path_of(encoder)):
            one = task(name=f"encoders.{encoder.__name__}")(pay)
            with pytest.raises(error) as caught:
                one.push(price)
        assert "price" in str(caught.value)
        assert f"he encoder {path_of(encoder)} {said}" in str(caught.value)
    with changed(settings, path_of(Endless)), pytest.raises(NotEncodable, match="nested too deeply"):
        task(name="encoders.Endless")(pay).push(price)
    with pytest.raises(NotEncodable, match=r"encode\(price\)\['amount'\] is an object"):
        task(name="encoders.Deep")(pay).push(Money(object(), "EUR"))  # type: ignore[arg-type]
    assert run_worker() == 0


def test_a_record_that_the_encoder_cannot_read_fails_its_task_and_stays(
    chosen: None, settings: Any, admin_client: Client
) -> None:
    """The error names the parameter. After a correction of the code, a retry runs the task."""

    @task(name="encoders.pay", retries=0)
    def pay(price: Money) -> str:
        return f"{price.amount}"

    get_broker().push([Push(id="x", name="encoders.pay", args=b'[[{"sum":"1.50","currency":"EUR"}],{}]')])
    run_worker()
    handle = get("x")
    assert handle is not None
    with pytest.raises(TaskFailed, match=r"price: the encoder tests\.stores\.money\.MoneyEncoder raised KeyError"):
        handle.result(0)
    with changed(settings, ""):
        page = html.unescape(strip_tags(admin_client.get("/ops/tasks/x/").content.decode()))
    assert re.search(r"sum\W+1\.50", page)
    with changed(settings, path_of(Older)):
        assert handle.retry()
        run_worker()
    assert handle.result(0) == "1.50"
