"""View state of the chunk page: the part of the picture, the list and its page, as parameters of the URL."""

from __future__ import annotations

import re
from typing import Self

import msgspec
from django.http import HttpRequest

NUMBER = re.compile(r"\d{1,9}", re.ASCII)
SHOWN = 200
CLOSE = 500  # the fewest chunks that a zoom shows


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of the URL; with `state` None the page chooses the list; `column` is the opened one."""

    first: int = 0
    count: int = 0
    column: int | None = None
    state: str | None = None
    error: str = ""
    after: str = ""
    shown: tuple[int, ...] = ()

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        """Read the query of a request; a value that is not a number is ignored."""
        get = request.GET.get
        state = get("state")
        return cls(
            first=_number(get("first")) or 0,
            count=_number(get("count")) or 0,
            column=_number(get("column")),
            state="" if state == "all" else state,
            error=get("error", "")[:100],
            after=get("after", ""),
            shown=tuple(int(found) for found in NUMBER.findall(get("shown", ""))[:SHOWN]),
        )

    @staticmethod
    def around(number: int, width: int, total: int) -> dict[str, str]:
        """The part of the picture that shows a column, with its neighbours if the part is narrow."""
        count = max(CLOSE, width)
        first = number if width >= CLOSE else number + width // 2 - CLOSE // 2
        return {"first": str(max(0, min(first, total - count))), "count": str(count)}

    def range(self) -> dict[str, str]:
        """The part of the picture, as parameters of a URL."""
        found = {"first": self.first, "count": self.count}
        return {name: str(number) for name, number in found.items() if self.count}

    def params(self) -> dict[str, str]:
        """All parameters of the URL but the column."""
        state = {} if self.state is None else {"state": self.state or "all"}
        rest = {name: value for name, value in (("error", self.error), ("after", self.after)) if value}
        return self.range() | state | rest


def _number(value: str | None) -> int | None:
    found = NUMBER.fullmatch(value or "")
    return int(found.group()) if found else None
