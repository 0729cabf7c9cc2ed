"""Shortened texts: cut at a length, types without their module, errors in one line."""

from __future__ import annotations

from django.template.defaultfilters import truncatechars

from queueops.model.sentences import Translatable, translated
from queueops.model.task_error import without_module


def cut(text: object, length: int) -> str:
    """Django's `truncatechars`, without its cost for a short text; a sentence of the engine is translated first."""
    made = text.translated() if isinstance(text, Translatable) else str(text)
    return made if len(made) <= length else truncatechars(made, length)


def last_name(path: str) -> str:
    """The name of a type without its module."""
    return path.rpartition(".")[2] or path


def short_error(title: str) -> str:
    """An error in one line, its type without its module, for narrow columns."""
    return without_module(translated(title))
