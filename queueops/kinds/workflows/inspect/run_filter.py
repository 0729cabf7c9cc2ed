"""Filter of a list of runs: by state, name, tag, instance, age and custom status; and a page of those that match."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec

from queueops.errors import FilterError
from queueops.inspect import pagination
from queueops.inspect.answers import Broken, broken_pools
from queueops.inspect.merged_rows import merged_rows
from queueops.inspect.query import LONGEST, TaskQuery
from queueops.inspect.redaction import conceals, redactor
from queueops.inspect.store import open_reader, pools_of
from queueops.inspect.task_rows import TaskRow
from queueops.model.durations import to_ms
from queueops.model.explained import advised
from queueops.model.sentences import say
from queueops.model.states import table
from queueops.redis.query_replies import whole
from queueops.redis.reader import Argument

RUN = "workflow"
KIND_INDEX = f"kind:{RUN}"
"""The index of all runs."""
BLOCKED, SUSPENDED, CONTINUED = "blocked", "suspended", "continued"
MARKS = {BLOCKED: "vb", SUSPENDED: "vs", CONTINUED: "ve"}
"""States of runs alone, each with its field and an index: runs whose decision step could not be made, or that are
suspended, whatever state they are in meanwhile; and runs that ended because they continued as new."""
MOST = 200
BUDGET = 1000
"""The most candidates of a page in each pool. With a filter that no index covers, a page may end before it is full."""
_AGE = re.compile(r"(\d{1,7})\s*(s|min|h|d)", re.IGNORECASE)
_STORED = re.compile(r"[ !#-\[\]-~]+")
"""Printable ASCII without quotes and backslashes."""
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter: each part that is set must match. Ages are in milliseconds since the start of a run.

    ``state`` is a state of tasks, or one of MARKS. A run that continued as new is not found as one that succeeded.
    ``instance`` is a whole id, or a beginning with a `*` behind it.
    ``status`` is a part of the text of the status.
    """

    state: str = ""
    name: str = ""
    pool: str = ""
    tag: str = ""
    instance: str = ""
    status: str = ""
    older_ms: int = 0
    younger_ms: int = 0

    def checked(self) -> RunFilter:
        """The filter itself, if every part is valid. Raises FilterError."""
        if self.state and self.state not in (known := (*table().states, *MARKS)):
            values = {"state": repr(self.state), "advice": advised(self.state, map(str, known))}
            raise FilterError(reason=say("there is no state %(state)s%(advice)s", **values))
        self.query.checked()
        for name, value in (("instance", self.instance), ("status", self.status)):
            if len(value) > LONGEST:
                reason = say("%(field)s is longer than %(most)s characters.", field=name, most=str(LONGEST))
                raise FilterError(reason=reason)
        if self.status and conceals():
            raise FilterError(reason=say("a filter by status needs the permission to see arguments."))
        if self.older_ms and self.younger_ms and self.younger_ms <= self.older_ms:
            raise FilterError(
                reason=say("no run is both older and younger: give an older age that is below the younger one.")
            )
        return self

    @property
    def query(self) -> TaskQuery:
        """The part of the filter that each list of tasks has."""
        state = "" if self.state in MARKS else self.state
        return TaskQuery(kind=RUN, state=state, name=self.name, pool=self.pool, tag=self.tag)

    @property
    def is_exact(self) -> bool:
        """Whether an index has exactly the runs that match."""
        named = [part for part in (self.query.state, self.name, self.tag) if part]
        return not (named or self.instance or self.status or self.older_ms or self.younger_ms)


def age_ms(value: float | timedelta | str) -> int:
    """An age in milliseconds: seconds, a timedelta, or a text such as `90s`, `15min`, `12h` or `7d`; "" is none.

    Raises FilterError and BadOption.
    """
    if not isinstance(value, str):
        return to_ms("age", value)
    if not value.strip():
        return 0
    found = _AGE.fullmatch(value.strip())
    if found is None:
        raise FilterError(reason=say("%(value)s is not an age, such as 90s, 15min, 12h or 7d.", value=repr(value[:50])))
    return to_ms("age", int(found[1]) * _UNITS[found[2].lower()])


class FoundRuns(NamedTuple):
    """The rows of one page, with where the next one begins; `seen` of `size` candidates were looked at."""

    rows: Sequence[TaskRow]
    next: str = ""
    size: int = 0
    seen: int = 0
    broken: tuple[Broken, ...] = ()


def find_runs(wanted: RunFilter, after: str, limit: int, budget: int = BUDGET) -> FoundRuns:
    """One page of the runs that match, newest first; it may have none and go on. Raises FilterError."""
    return _read(wanted, after, max(1, min(limit, MOST)), max(1, min(budget, BUDGET)))


def blocked_run_count(pool: str = "") -> int:
    """The number of blocked runs now, of a pool or of all. A pool that does not answer counts as none."""
    return run_count(BLOCKED, pool)


def run_count(mark: str, pool: str = "") -> int:
    """The number of runs that are `blocked`, `suspended` or `continued` now, of a pool or of all. Raises FilterError.

    A pool that does not answer counts as none.
    """
    if mark not in MARKS:
        values = {"mark": repr(mark), "marks": ", ".join(MARKS), "advice": advised(mark, MARKS)}
        raise FilterError(reason=say("%(mark)s is none of %(marks)s%(advice)s", **values))
    return run_counts(pool)[mark]


def run_counts(pool: str = "") -> dict[str, int]:
    """The numbers of blocked, suspended and continued runs, of a pool or of all, in one round trip."""
    reader = open_reader()
    replies = reader.ask("run_counts", dict.fromkeys(pools_of(reader, pool), ())).values()
    return {mark: sum(whole(reply[place]) for reply in replies) for place, mark in enumerate(MARKS)}


def shows(stored: str, wanted: str) -> bool:
    """Whether a status, with its secrets masked, has a text in it. The store has looked for a part of the text."""
    if not wanted:
        return True
    document = redactor().document(stored.encode())
    return any(wanted.casefold() in text.casefold() for text in (document, plain(document)))


def _stored_part(wanted: str) -> str:
    """The longest part of a text that the store can find: it knows the case of ASCII alone, and JSON escapes others."""
    return max(_STORED.findall(wanted), key=len, default="").lower()


def plain(document: str) -> str:
    """A JSON text as what it says; another document as it is."""
    try:
        value = msgspec.json.decode(document) if document.startswith('"') else None
    except msgspec.MsgspecError:  # it was cut
        return document
    return value if isinstance(value, str) else document


def _read(wanted: RunFilter, after: str, limit: int, budget: int) -> FoundRuns:
    reader = open_reader()
    pools = pools_of(reader, wanted.pool)
    indexes = _indexes(wanted)
    begun = pagination.read(after, pools, indexes) if after else dict.fromkeys(pools, ("", "", ""))
    now = reader.now_ms() if wanted.older_ms or wanted.younger_ms else 0
    asked = {pool: _arguments(wanted, limit, budget, place, indexes, now) for pool, place in begun.items()}
    replies: Mapping[str, Sequence[Any]] = reader.ask("run_page", asked)
    found = merged_rows(begun, replies, limit, timed=tuple(MARKS))
    broken = broken_pools(reader.broken, reader.silent)
    return FoundRuns(found.rows, found.next, found.size, found.seen, broken)


def _facets(wanted: RunFilter) -> list[tuple[str, str, str]]:
    """For each part: the field of a record, its value, and the index of exactly those tasks.

    Of two indexes of one size the first is walked: that of blocked runs has the last one that was blocked first.
    """
    parts = (
        (MARKS.get(wanted.state, ""), wanted.state if wanted.state in MARKS else "", wanted.state),
        ("k", RUN, KIND_INDEX),
        ("n", wanted.name, f"name:{wanted.name}"),
        ("tg", wanted.tag, f"tag:{wanted.tag}"),
        ("s", wanted.query.state, f"state:{wanted.query.state}"),
    )
    return [part for part in parts if part[1]]


def _indexes(wanted: RunFilter) -> list[str]:
    return [index for _, _, index in _facets(wanted)]


def _arguments(
    wanted: RunFilter, limit: int, budget: int, place: pagination.Place, indexes: Sequence[str], now: int
) -> list[Argument]:
    since = now - wanted.younger_ms if wanted.younger_ms else ""
    till = now - wanted.older_ms if wanted.older_ms else ""
    own = (since, till, _stored_part(wanted.status), wanted.instance)
    triples = [part for facet in _facets(wanted) for part in facet]
    return [limit, budget, *place, *own, len(indexes), *indexes, *triples]
