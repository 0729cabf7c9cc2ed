"""Exported list: its columns, and its rows for the parameters of its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Exported(NamedTuple):
    """A list that can be exported. `pages` takes the parameters of the page, and gives the rows page by page."""

    columns: tuple[str, ...]
    pages: Callable[[Mapping[str, Any]], Iterator[Sequence[Any]]]
