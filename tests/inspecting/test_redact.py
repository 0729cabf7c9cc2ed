from __future__ import annotations

import json

from queueops.model.redact import MASK, Redactor, cut
from tests.support.for_each import for_each

REDACTOR = Redactor(("password", "token", "api_key"))


def test_values_of_matching_keys_are_masked_at_any_depth() -> None:
    found = REDACTOR.value({"a": [{"Api-Token": "x", "b": 1}], "PASSWORD": {"old": 1}, "c": "token"})
    assert found == {"a": [{"Api-Token": MASK, "b": 1}], "PASSWORD": MASK, "c": "token"}


def test_positional_arguments_are_masked_by_the_names_of_their_parameters() -> None:
    assert REDACTOR.call(b'[["bob","hunter2"],{"api_key":"k"}]', ("user", "password")) == (
        f'"bob", {MASK}, api_key={MASK}'
    )


def test_what_is_no_json_is_masked_as_text() -> None:
    shown = REDACTOR.document(b'\xff{"password": "hunter2", "a": 1} token=abc;x')
    assert "hunter2" not in shown
    assert "abc" not in shown
    assert '"a": 1' in shown


def test_nesting_without_end_is_masked_and_does_not_fail() -> None:
    deep = b"[" * 200 + b"1" + b"]" * 200
    assert MASK in REDACTOR.document(deep)
    assert REDACTOR.document(b"[" * 100_000) != ""


def test_numbers_stay_what_they_were() -> None:
    data = b"[[123456789012345678901234567890,1.5],{}]"
    assert json.loads(REDACTOR.document(data, ())) == json.loads(data)


@for_each("data", [b"", b"[]", b"[[1]]", b"null", b"[[1],[2]]", b"\xff\xfe"])
def test_a_preview_never_fails(data: bytes) -> None:
    assert isinstance(REDACTOR.call(data), str)


def test_without_patterns_nothing_is_hidden() -> None:
    assert Redactor(()).call(b'[[],{"password":"x"}]') == 'password="x"'


def test_a_cut_text_says_so() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("abcd", 4) == "abcd"
