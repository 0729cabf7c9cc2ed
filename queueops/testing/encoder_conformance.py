"""Conformance of an encoder: tests of the promises of `queueops.tasks.encoder.Encoder`. They need pytest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from queueops.errors import BadArguments
from queueops.tasks.encoder import project_encoder
from queueops.tasks.encoding import encode_result
from queueops.tasks.signature import ArgumentSpec


class EncoderConformance:
    """The tests. A subclass, whose name begins with Test, gives the encoder and values of each of its classes."""

    encoder: str
    """Its dotted path."""
    values: Sequence[Any]
    """At least one value of each class in `types`."""

    @pytest.fixture(autouse=True)
    def _in_settings(self) -> Iterator[None]:
        with override_settings(QUEUEOPS={**getattr(settings, "QUEUEOPS", {}), "ENCODER": self.encoder}):
            yield

    def test_each_class_has_a_value(self) -> None:
        """What no value shows is not tested here."""
        missing = [
            each.__qualname__
            for each in project_encoder(self.encoder).types
            if not any(isinstance(value, each) for value in self.values)
        ]
        assert not missing

    def test_a_value_is_stored_as_json(self) -> None:
        """The store, the console and composites read it."""
        for value in self.values:
            json.loads(self._stored(value), parse_constant=_refuse)

    def test_the_same_value_is_stored_as_the_same_text(self) -> None:
        """Also the value that was made again, and in several threads at the same time."""
        for value in self.values:
            text = self._stored(value)
            assert self._stored(value) == text
            assert self._stored(self._again(value)) == text
            with ThreadPoolExecutor(4) as threads:
                assert set(threads.map(lambda _, value=value: self._stored(self._again(value)), range(40))) == {text}

    def test_a_value_comes_back_as_its_class(self) -> None:
        """By the annotation of its class, and of each class in `types` that it belongs to."""
        for value in self.values:
            for each in (type(value), *project_encoder(self.encoder).types):
                if isinstance(value, each):
                    assert type(self._again(value, each)) is type(value)

    def test_a_value_comes_back_within_others(self) -> None:
        """In a list, and in a dict."""
        for value in self.values:
            of = type(value)
            (found,) = self._again([value], list[of])  # type: ignore[valid-type]
            assert self._stored(found) == self._stored(value)
            found = self._again({"key": value}, dict[str, of])["key"]  # type: ignore[valid-type]
            assert self._stored(found) == self._stored(value)

    def test_data_of_no_value_is_refused(self) -> None:
        """What is stored may be older than the code. The error names the encoder."""
        for value in self.values:
            with pytest.raises(BadArguments, match=self.encoder):
                _spec(type(value)).decode(b'[[{"":[null]}],{}]')

    def _stored(self, value: Any) -> bytes:
        return encode_result("conformance", value)

    def _again(self, value: Any, annotation: Any = None) -> Any:
        spec = _spec(annotation or type(value))
        ((found,), _) = spec.decode(spec.encode((value,), {}))
        return found


def _spec(annotation: Any) -> ArgumentSpec:
    def func(value: Any) -> None: ...

    func.__annotations__["value"] = annotation
    return ArgumentSpec(func, "conformance")


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")
