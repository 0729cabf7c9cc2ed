"""Dotted paths in settings: imports what the settings name, such as another store."""

from __future__ import annotations

from typing import Any

from django.utils.module_loading import import_string

from queueops.errors import BadSetting


def imported(place: str, path: str, takes: str) -> Any:
    """The class, or another callable, that a setting names. `takes`: its arguments, in words. Raises BadSetting."""
    try:
        found = import_string(path)
    except Exception as error:  # whatever its module raises while it is imported
        expected = f"the dotted path of a class that can be imported ({type(error).__name__}: {error})"
        raise refused(place, path, expected) from error
    if not callable(found):
        raise refused(
            place, path, f"a class or function that takes {takes}, and not of the type {type(found).__name__}"
        )
    return found


def refused(place: str, path: str, expected: str) -> BadSetting:
    """The error of a setting that names something else than what is expected."""
    return BadSetting(place=place, value=repr(path), expected=expected)
