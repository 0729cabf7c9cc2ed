"""One test for many sources: all offences of a rule in one list, in place of an id for each file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(name: str, items: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with each item as its argument ``name``; it fails with the messages of all items that fail."""
    found = list(items)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def over_all(**fixtures: Any) -> None:
            offences = []
            for item in found:
                try:
                    test(**fixtures, **{name: item})
                except AssertionError as error:
                    offences.append(f"{item}: {error}")
            assert not offences, f"{len(offences)} of {len(found)}:\n" + "\n".join(offences)

        signature = inspect.signature(test)
        rest = [each for each in signature.parameters.values() if each.name != name]
        over_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        over_all.__name__, over_all.__doc__, over_all.__module__ = test.__name__, test.__doc__, test.__module__
        return over_all

    return decorate
