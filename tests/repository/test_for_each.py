"""A rule over many sources is one test, and names each offence."""

from __future__ import annotations

import pytest

from tests.support.for_each import for_each


@for_each("number", [1, 2, 3])
def small(tmp_path: str, number: int) -> None:
    assert number < 2, tmp_path


def test_a_rule_names_each_source_that_breaks_it() -> None:
    with pytest.raises(AssertionError, match=r"(?s)2 of 3:\n2: here.*3: here"):
        small(tmp_path="here")


def test_another_error_ends_the_test_at_once() -> None:
    @for_each("number", [0])
    def divide(number: int) -> None:
        assert 1 / number

    with pytest.raises(ZeroDivisionError):
        divide()
