from __future__ import annotations

import msgspec
import pytest

from queueops.model.task_error import StoredError
from queueops.worker.execution.failure import MAX_MESSAGE, MAX_TRACEBACK, describe, middle_cut, plain, title_of
from tests.support.for_each import for_each


def raised(error: BaseException, depth: int = 0) -> StoredError:
    try:
        _raise(error, depth)
    except BaseException as caught:  # what is looked at is what was raised
        return describe(caught)
    raise AssertionError


def _raise(error: BaseException, depth: int) -> None:
    if depth:
        _raise(error, depth - 1)
    raise error


def test_type_message_and_traceback_are_kept() -> None:
    failure = raised(ValueError("no such order"))
    assert (failure.type, failure.message) == ("ValueError", "no such order")
    assert title_of(failure) == "ValueError: no such order"
    assert "in _raise" in failure.traceback
    assert msgspec.json.decode(failure.encoded(), type=StoredError) == failure


@for_each(
    ("one", "other"),
    [
        ("order 17 is gone", "order 18 is gone"),
        ("key 'a' is missing", "key 'b' is missing"),
        ('file "x" is empty', 'file "yy" is empty'),
        ("id 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "id 6ba7b811-9dad-11d1-80b4-00c04fd430c9"),
        ("<object at 0x7f00>", "<object at 0x7fff>"),
    ],
)
def test_errors_that_differ_in_numbers_ids_and_quoted_words_have_one_fingerprint(one: str, other: str) -> None:
    assert raised(ValueError(one)).fingerprint == raised(ValueError(other)).fingerprint


def test_another_type_another_text_and_another_place_are_other_errors() -> None:
    first = raised(ValueError("gone")).fingerprint
    assert raised(TypeError("gone")).fingerprint != first
    assert raised(ValueError("full")).fingerprint != first
    with pytest.raises(ValueError, match="gone") as elsewhere:
        raise ValueError("gone")
    assert describe(elsewhere.value).fingerprint != first


def test_what_is_too_long_keeps_both_ends() -> None:
    failure = raised(ValueError("begin " + "x" * 100_000 + " end"), depth=500)
    assert len(failure.message.encode()) <= MAX_MESSAGE
    assert len(failure.traceback.encode()) <= MAX_TRACEBACK
    assert failure.message.startswith("begin")
    assert failure.message.endswith("end")
    assert failure.traceback.startswith("Traceback")
    assert failure.traceback.rstrip().endswith("end")


def test_a_cut_never_breaks_a_character() -> None:
    cut = middle_cut("é" * 1000, 101)
    assert "�" not in cut
    assert len(cut.encode()) <= 101


def test_an_exception_that_cannot_be_read_is_described_all_the_same() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even this")

    assert "can't be read: RuntimeError" in raised(Broken()).message


def test_a_lone_surrogate_in_a_message_can_be_stored() -> None:
    assert raised(ValueError("\ud800")).encoded()


def test_an_error_without_an_exception_has_no_traceback() -> None:
    failure = plain("HardTimeout", "too long")
    assert (failure.traceback, title_of(failure)) == ("", "HardTimeout: too long")
