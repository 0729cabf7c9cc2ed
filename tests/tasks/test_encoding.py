"""Arguments and results as they are stored."""

from __future__ import annotations

import datetime as dt
import enum
import re
import uuid
from dataclasses import dataclass
from decimal import Decimal

import msgspec
import pytest
from django.contrib.auth.models import User
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from queueops.errors import NotDecodable, NotEncodable, PayloadTooLarge
from queueops.tasks.encoding import decode_arguments, decode_result, encode_arguments, encode_result
from tests.support.for_each import for_each


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int


class Size(msgspec.Struct):
    w: int


@for_each(
    ("value", "stored"),
    [
        (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02T03:04:05Z"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.timedelta(seconds=90), "PT90S"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), "1.50"),
        (Colour.RED, "red"),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Size(3), {"w": 3}),
        (b"ab", "YWI="),
        ({7}, [7]),
        (gettext_lazy("Yes"), "Yes"),
        (mark_safe("<b>"), "<b>"),
        ({1: "a"}, {"1": "a"}),
        (2**70, 2**70),
        ("ü", "ü"),
        (None, None),
    ],
)
def test_what_json_lacks_has_a_form_of_its_own(value, stored):
    assert decode_arguments("t", encode_arguments("t", [value], {"named": value})) == ([stored], {"named": stored})


def test_no_arguments_and_no_result_take_no_bytes():
    assert encode_arguments("t", (), {}) == b""
    assert decode_arguments("t", b"") == ([], {})
    assert encode_result("t", None) == b""
    assert decode_result("t", b"") is None


def test_a_model_instance_is_refused_with_advice():
    with pytest.raises(NotEncodable) as caught:
        encode_arguments("mail", [1, User(pk=3)], {}, ["count", "user"])
    assert str(caught.value) == (
        "The arguments of mail cannot be stored: user is a User. "
        "Pass its primary key (.pk), and load it from the database inside the task."
    )


def test_messages_about_values_keep_their_grammar():
    with pytest.raises(NotEncodable, match="it is an object"):
        encode_result("t", object())
    assert str(PayloadTooLarge(what="result", name="t", size=2, limit=1)).startswith(
        "The result of t came to 2 bytes, the limit is 1."
    )


def test_the_innermost_culprit_is_named():
    with pytest.raises(NotEncodable, match=r"users\['all'\]\[1\] is a User"):
        encode_arguments("mail", [], {"users": {"all": [1, User(pk=3)]}})


@for_each(
    ("value", "advice"),
    [
        (User.objects.none(), "Pass a list of primary keys"),
        (range(3), "Pass a list."),
        (iter([1]), "Pass a list."),
        (print, "Pass its name"),
        (object(), "Use what JSON has"),
        (float("nan"), "Use None, or a text."),
        ([1.0, float("inf"), None], "Use None, or a text."),
        ("\ud800", "not valid Unicode"),
        ({(1, 2): 3}, "Its keys must be texts or numbers."),
    ],
)
def test_other_things_are_refused_with_advice(value, advice):
    with pytest.raises(NotEncodable) as caught:
        encode_arguments("t", [value], {})
    assert advice in str(caught.value)
    with pytest.raises(NotEncodable, match=re.escape(advice)) as caught:
        encode_result("t", value)
    assert (caught.value.what, caught.value.name) == ("result", "t")


def test_what_contains_itself_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(NotEncodable, match="contains itself"):
        encode_result("t", circle)


def test_over_the_limit_is_refused_with_both_numbers(settings):
    settings.QUEUEOPS = {"PAYLOAD_LIMIT": 100}
    with pytest.raises(PayloadTooLarge) as caught:
        encode_arguments("t", ["x" * 100], {})
    assert (caught.value.size, caught.value.limit) == (109, 100)
    with pytest.raises(PayloadTooLarge):
        encode_result("t", "x" * 100)


@for_each("data", [b"[[1]", b"{}", b"[1,2]", b"\xff", b"[" * 100_000])
def test_garbage_is_not_decodable(data):
    with pytest.raises(NotDecodable):
        decode_arguments("t", data)
