"""A rule over many cases is one test, and names each case that breaks it."""

from __future__ import annotations

import inspect

import pytest

from tests.support.for_each import for_each


@for_each("number", [1, 2, 3])
def small(tmp_path: str, number: int) -> None:
    assert number < 2, tmp_path


@for_each(("first", "second"), [("a", 1), ("b", 2)])
@for_each("third", [None, 3])
def agree(first: str, second: int, third: int | None) -> None:
    with pytest.raises(ValueError, match="invalid"):
        int(first if third else second)


@for_each("number", [1, 0])
def divide(number: int) -> None:
    assert 1 / number


def test_a_rule_names_each_case_that_breaks_it() -> None:
    with pytest.raises(AssertionError, match=r"(?s)2 of 3:\n2: here.*3: here"):
        small(tmp_path="here")


def test_cases_of_several_arguments_are_combined_and_named_when_an_error_is_missed() -> None:
    with pytest.raises(
        AssertionError, match=r"(?s)2 of 2:\n'a', 1: 1 of 2:\nNone: DID NOT RAISE.*'b', 2: 1 of 2:\nNone: DID NOT"
    ):
        agree()
    with pytest.raises(ValueError, match="2 arguments"):
        for_each(("first", "second"), [("a", 1), ("b", 2, 3)])


def test_another_error_ends_the_test_at_once_and_names_the_case() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        divide()
    assert caught.value.__notes__ == ["in the case 0"]


def test_a_failure_is_reported_at_the_lines_of_the_test() -> None:
    assert inspect.unwrap(agree).__code__.co_filename == __file__
    assert list(inspect.signature(agree).parameters) == []
