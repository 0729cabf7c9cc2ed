"""Iterators and templates whose own method is missing, and base classes that leave it to their subclasses."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pytest

from queueops import Batch, Chain, Group, Iterator
from queueops.errors import BadOption
from queueops.tasks import registry
from queueops.testing import eager
from tests.composites.work import tell


def iterate(self: Any, state: int | None, count: int) -> Batch | None:
    at = state or 0
    return Batch(at + 1, [tell.s(at)]) if at < count else None


def init(self: Any, count: int) -> list[Any]:
    return [tell.si(at) for at in range(count)]


CASES = pytest.mark.parametrize(
    ("base", "method", "function", "line"),
    [
        (Iterator, "iterate", iterate, "def iterate(self, state): return Batch(...)"),
        (Chain, "init", init, "def init(self): return [...]"),
        (Group, "init", init, "def init(self): return [...]"),
    ],
)


@CASES
def test_a_class_without_its_method_is_refused_where_it_is_defined(
    base: Any, method: str, function: Any, line: str
) -> None:
    with pytest.raises(BadOption) as caught:
        type("Without", (base,), {"name": "shop.without"})
    text = str(caught.value)
    assert text.startswith(f"The class shop.without has no method {method}, which answers ")
    assert f"Write: {line}." in text
    assert text.endswith(f"A base class says: class Without({base.__name__}, abstract=True).")
    assert registry.find(base.kind if base is not Iterator else "iterator", "shop.without") is None


@CASES
def test_a_base_class_leaves_the_method_to_its_subclasses(base: Any, method: str, function: Any, line: str) -> None:
    class Base(base, abstract=True): ...

    with pytest.raises(BadOption, match=rf"has no method {method}\b"):
        type("Without", (Base,), {})
    Whole = type("Whole", (Base,), {method: function, "name": "shop.whole"})  # noqa: N806  # it is a class
    Inherits = type("Inherits", (Whole,), {"name": "shop.inherits"})  # noqa: N806
    with eager():
        assert [kind.push(2).state for kind in (Whole, Inherits)] == ["succeeded"] * 2


@CASES
def test_a_method_that_is_abstract_again_counts_as_missing(base: Any, method: str, function: Any, line: str) -> None:
    Base = type("Base", (base,), {method: abstractmethod(lambda self, *args: None)}, abstract=True)  # noqa: N806
    with pytest.raises(BadOption, match=rf"has no method {method}\b"):
        type("Without", (Base,), {})
