"""One test for many cases: all cases that fail in one list, in place of an id for each."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def for_each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Call the test with each case as its argument, or as its arguments; it fails with the messages of all that fail.

    The cases share the fixtures of the test. Two decorators combine their cases.
    """
    columns = (names,) if isinstance(names, str) else names
    rows = [(case,) if isinstance(names, str) else tuple(case) for case in cases]
    if wrong := [row for row in rows if len(row) != len(columns)]:
        raise ValueError(f"for_each: {wrong[0]!r} has not the {len(columns)} arguments {columns!r}")

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def over_all(**fixtures: Any) -> None:
            failures = []
            for row in rows:
                label = ", ".join(repr(value)[:200] for value in row)
                try:
                    test(**fixtures, **dict(zip(columns, row, strict=True)))
                except (AssertionError, pytest.fail.Exception) as error:
                    failures.append(f"{label}: {error}")
                except Exception as error:
                    error.add_note(f"in the case {label}")
                    raise
            if failures:
                raise AssertionError(f"{len(failures)} of {len(rows)}:\n" + "\n".join(failures))

        signature = inspect.signature(test)
        rest = [each for each in signature.parameters.values() if each.name not in columns]
        over_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return over_all

    return decorate
