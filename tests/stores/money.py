"""Example encoder: amounts of money, and shapes as a family of classes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Money:
    """An amount. It has no ``__eq__``: two amounts are compared by what is stored."""

    def __init__(self, amount: Decimal, currency: str) -> None:
        self.amount = amount
        self.currency = currency


class Shape:
    """A base class, which annotations name."""


class Circle(Shape):
    """A shape that has a price in it."""

    def __init__(self, price: Money) -> None:
        self.price = price


class Sku(str):
    """A text with a form of its own."""

    __slots__ = ()


class Box(Generic[T]):
    """A generic class."""

    def __init__(self, content: T) -> None:
        self.content = content


class MoneyEncoder:
    """`QUEUEOPS = {"ENCODER": "tests.stores.money.MoneyEncoder"}`."""

    types: tuple[type, ...] = (Money, Shape, Sku, Box)

    def encode(self, value: Any) -> Any:
        """Money as two values, which QueueOps stores itself; a shape with the money in it."""
        if isinstance(value, Money):
            return {"amount": value.amount, "currency": value.currency}
        if isinstance(value, Box):
            return [value.content]
        return {"circle": value.price} if isinstance(value, Circle) else f"sku:{value}"

    def decode(self, wanted: type, data: Any) -> Any:
        """The value again."""
        if issubclass(wanted, Money):
            return Money(Decimal(data["amount"]), data["currency"])
        if issubclass(wanted, Shape):
            return Circle(self.decode(Money, data["circle"]))
        if issubclass(wanted, Box):
            return Box(data.pop(0))
        return Sku(data.removeprefix("sku:"))
