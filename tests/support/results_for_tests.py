"""Tasks with a return annotation, for the tests of results."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from queueops import Chain, Group, MapReduce, chain, group, task

if TYPE_CHECKING:
    from somewhere import Nothing

DAY = date(2026, 1, 31)


class Colour(enum.Enum):
    """A colour."""

    RED = "red"


@dataclass
class Order:
    """An order."""

    id: UUID
    day: date
    price: Decimal


@task
def next_day(day: date) -> date:
    """The day after."""
    return day + timedelta(days=1)


@task
async def next_day_later(day: date) -> date:
    """The same, on the loop."""
    return day + timedelta(days=1)


@task
def order(id: UUID, day: date) -> Order:
    """A data class."""
    return Order(id, day, Decimal("9.90"))


@task
def colours() -> dict[int, set[Colour]]:
    """A container."""
    return {1: {Colour.RED}}


@task
def pair() -> tuple[bytes, timedelta]:
    """A tuple."""
    return b"\x00\xff", timedelta(minutes=1)


@task
def maybe(day: date | None = None) -> date | None:
    """A date, or nothing."""
    return day


@task
def ambiguous(day: date) -> date | str:
    """What JSON cannot tell apart."""
    return day


@task
def unresolved(day: date) -> Nothing:
    """An annotation that only a type checker can resolve."""
    return day


@task
def unannotated(day: date):
    """No annotation."""
    return day


@task
def anything(day: date) -> Any:
    """Any."""
    return day


@task
def unfit(value: Any) -> int:
    """Whatever it is given."""
    return value


@task
def days(first: date, count: int) -> Iterator[date]:
    """Yield so many days."""
    for number in range(count):
        yield first + timedelta(days=number)


@task
async def days_later(first: date, count: int) -> AsyncIterator[date]:
    """The same, on the loop."""
    for number in range(count):
        yield first + timedelta(days=number)


@task
def last_day(first: date, count: int) -> Generator[int, None, date]:
    """Yield numbers, and return a day."""
    yield from range(count)
    return first + timedelta(days=count)


@task
def maybe_last_day(first: date, count: int) -> Generator[date, None, Decimal | None]:
    """Yield days, and return a number if there are any."""
    yield first
    return Decimal(count) if count else None


class Latest(MapReduce):
    """The latest day."""

    def map(self, *days: date) -> Iterator[date]:
        """Each day is a chunk."""
        yield from days

    def process(self, chunk: str) -> str:
        """Chunks and their results are plain JSON."""
        return chunk

    def reduce(self, results: Any) -> date:
        """The latest."""
        return date.fromisoformat(max(results))


class Twice(Chain):
    """Two days on."""

    def init(self, day: date) -> Any:
        """Two parts."""
        return [next_day.s(day), next_day.s()]


class Both(Group):
    """A day and an order."""

    pool = "mail"

    def init(self, id: UUID, day: date) -> Any:
        """Two parts of two types, in two pools."""
        return [next_day.s(day), chain(next_day.s(day), group(days.s(1), unannotated.using(pool="mail").s()))]


@task
def broken() -> date:
    """Fail."""
    raise ValueError("no day")
