"""What a task function takes: checked when it is pushed, converted when it runs."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from queueops.errors import BadArguments, BadDependency, NotDecodable
from queueops.tasks.depends import Depends
from queueops.tasks.signature import ArgumentSpec
from tests.support.for_each import for_each

if TYPE_CHECKING:
    from django.contrib.auth.models import User as OnlyForCheckers


class Colour(enum.Enum):
    RED = "red"


class Ratio(enum.Enum):
    HALF = 0.5


class Word(enum.StrEnum):
    A = "a"


@dataclass
class Point:
    x: int
    y: Decimal


def mail(user_id: int, template: str = "welcome", *, at: dt.datetime | None = None) -> None: ...


def anything(first, *more, **named): ...


@for_each(
    ("args", "kwargs", "reason"),
    [
        ((), {}, "'user_id' must be given."),
        ((1, "a", 3), {}, "it takes at most 2 positional arguments, but 3 were given."),
        ((1,), {"zzz": 3}, "there is no parameter 'zzz'; known are: at, template, user_id"),
        ((1,), {"templat": "a"}, "there is no parameter 'templat'; did you mean 'template'?"),
        ((1,), {"user_id": 2}, "'user_id' is given twice."),
        (("x",), {}, "user_id: Expected `int`, got `str`."),
        ((None,), {}, "user_id: Expected `int`, got `null`."),
        ((1,), {"at": "soon"}, "at: Invalid RFC3339 encoded datetime."),
    ],
)
def test_wrong_arguments_are_refused_at_push(args, kwargs, reason):
    with pytest.raises(BadArguments) as caught:
        ArgumentSpec(mail, "mail").encode(args, kwargs)
    assert str(caught.value) == f"mail() cannot be called with these arguments: {reason}"
    assert isinstance(caught.value, TypeError)


def round_trip(func, *args, **kwargs):
    plan = ArgumentSpec(func, "t")
    return plan.decode(plan.encode(args, kwargs))


def test_arguments_come_back_as_their_annotations_say():
    def func(
        a: uuid.UUID, b: Decimal, c: Colour, d: Point, e: dict[int, dt.date], f: tuple[int, ...], g: bytes, h: set[str]
    ):
        """Take one of each."""

    given = (
        uuid.uuid4(),
        Decimal("1.1"),
        Colour.RED,
        Point(1, Decimal(2)),
        {3: dt.date(2026, 1, 1)},
        (1, 2),
        b"x",
        {"y"},
    )
    assert round_trip(func, *given) == (list(given), {})
    names = dict(zip("abcdefgh", given, strict=True))
    assert round_trip(func, **names) == ([], names)


def test_a_default_of_none_allows_none():
    def func(a: int = None): ...  # noqa: RUF013  such code exists

    assert round_trip(func, None) == ([None], {})


def test_what_can_be_held_after_encoding_is_allowed():
    def func(text: str, number: float): ...

    assert round_trip(func, uuid.UUID(int=0), 1) == (["00000000-0000-0000-0000-000000000000", 1.0], {})


def test_annotations_that_nobody_can_convert_are_left_alone():
    def func(user: OnlyForCheckers, thing: list[object], call: Any, either: dt.datetime | str): ...

    assert round_trip(func, 1, [2], "x", "y") == ([1, [2], "x", "y"], {})


@for_each("value", [dt.date(2026, 1, 2), Decimal("1.5"), [{"day": dt.date(2026, 1, 2)}], (uuid.UUID(int=1),), b"x"])
def test_a_value_that_an_annotation_cannot_bring_back_is_refused(value: Any):
    def func(until: dt.date | str, *, at: dict[str, dt.date | str] | None = None): ...

    for args, kwargs in (((value,), {}), (("x",), {"at": {"x": value}})):
        with pytest.raises(BadArguments, match=r"cannot be restored by the annotation .*Pass a plain JSON value"):
            ArgumentSpec(func, "t").encode(args, kwargs)
    with pytest.raises(
        BadArguments, match=r"at\['x'\].*: a \w+ cannot be restored by the annotation dict\[str, datetime.date \| str"
    ):
        ArgumentSpec(func, "t").encode_after((), {"at": {"x": value}})
    assert round_trip(func, "2026-01-02", at={"x": "y"}) == (["2026-01-02"], {"at": {"x": "y"}})


def test_an_enum_that_json_cannot_hold_is_refused_and_one_of_texts_is_a_text():
    def func(either: Ratio | Word): ...

    assert round_trip(func, Word.A) == (["a"], {})
    with pytest.raises(BadArguments, match=r"either: a .*Ratio cannot be restored by the annotation"):
        ArgumentSpec(func, "t").encode((Ratio.HALF,), {})


def test_variable_parameters_are_converted_each():
    def func(a: int, *more: Decimal, **named: uuid.UUID): ...

    given = (1, Decimal(2), Decimal(3)), {"x": uuid.UUID(int=1)}
    assert round_trip(func, *given[0], **given[1]) == (list(given[0]), given[1])
    with pytest.raises(BadArguments, match="argument 2: Invalid decimal string"):
        ArgumentSpec(func, "t").encode((1, "x"), {})
    with pytest.raises(BadArguments, match="x: Invalid UUID"):
        ArgumentSpec(func, "t").encode((1,), {"x": "y"})


def test_a_function_without_annotations_takes_anything():
    assert round_trip(anything, 1, "x", None, z=[1]) == ([1, "x", None], {"z": [1]})


def test_positional_only_and_keyword_only_parameters_are_kept_apart():
    def func(a, /, *, b): ...

    assert round_trip(func, 1, b=2) == ([1], {"b": 2})
    for args, kwargs in [((), {"a": 1, "b": 2}), ((1,), {}), ((1, 2), {})]:
        with pytest.raises(BadArguments):
            ArgumentSpec(func, "t").encode(args, kwargs)


def test_the_path_into_a_container_is_told():
    def func(ids: list[int], names: dict[int, str]): ...

    with pytest.raises(BadArguments, match=r"ids\[1\]: Expected `int`, got `str`"):
        ArgumentSpec(func, "t").encode(([1, "x"], {}), {})
    with pytest.raises(BadArguments, match=r"names \(a key\): Expected `int`, got `str`"):
        ArgumentSpec(func, "t").encode(([1], {"x": "y"}), {})


def test_a_call_that_no_longer_fits_the_code_is_refused_at_run():
    plan = ArgumentSpec(mail, "mail")
    for data in (b'[["x"],{}]', b"[[1,2,3],{}]", b'[[1],{"gone":1}]', b"[[],{}]"):
        with pytest.raises(BadArguments):
            plan.decode(data)
    with pytest.raises(NotDecodable):
        plan.decode(b"garbage")


def test_dependencies_are_no_arguments():
    def func(
        a: int, session: str = Depends(lambda: "x"), b: int = 2, *, other: Annotated[str, Depends(lambda: "y")]
    ): ...

    plan = ArgumentSpec(func, "t")
    assert set(plan.dependencies) == {"session", "other"}
    assert plan.decode(plan.encode((1,), {"b": 3})) == ([1], {"b": 3})
    with pytest.raises(BadArguments, match="at most 1 positional"):
        plan.encode((1, 2), {})
    with pytest.raises(BadArguments, match="no parameter 'session'"):
        plan.encode((1,), {"session": "x"})


def test_a_dependency_before_variable_parameters_is_refused():
    def func(a, session=Depends(lambda: "x"), *more): ...

    with pytest.raises(BadDependency, match=r"it stands before \*args"):
        ArgumentSpec(func, "t")


def test_arguments_that_a_newer_function_no_longer_takes_are_told_as_at_a_push():
    def older(a, b, c): ...

    def newer(a): ...

    def renamed(x, y): ...

    data = ArgumentSpec(older, "t").encode((1, 2, 3), {})
    with pytest.raises(BadArguments, match=r"it takes at most 1 positional argument, but 3 were given\.$"):
        ArgumentSpec(newer, "t").decode(data)
    with pytest.raises(BadArguments, match=r"there is no parameter 'b'"):
        ArgumentSpec(renamed, "t").decode(ArgumentSpec(older, "t").encode((1,), {"b": 2, "c": 3}))
