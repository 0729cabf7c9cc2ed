"""Trees of parts: the parts of a chain, group or iterator, and theirs, as far as one page holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from queueops.inspect import pagination
from queueops.inspect.detail import RUNNING_AGAIN
from queueops.inspect.models import Above, Branch, Part, Tree
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader
from queueops.inspect.tasks import row_of
from queueops.model.ids import NAME
from queueops.model.redact import Redactor, cut
from queueops.model.states import TERMINAL, State
from queueops.redis.query_replies import BranchFacts, PartFacts, may_be_id, maybe_whole
from queueops.redis.reader import Reader

PAGE, ROWS = 50, 100
"""The most parts of the task itself on one page, and the most rows in all."""
SEARCHES = 4
"""Calls in which a filtered tree searches its parts, 500 each."""
MOST_OPENED = 20
SHOWN = ("", "failed", "open")
"""The filters of parts: all, failed or cancelled, not ended."""
UNWELL = (State.FAILED, State.CANCELLED, State.QUARANTINED)
_POSITION = re.compile(r"[ge]?\d{1,15}", re.ASCII)
_ORDER = {str(state): number for number, state in enumerate(State)}


def tree(id: str, pool: str, *, after: str = "", show: str = "", opened: Sequence[str] = ()) -> Tree:
    """The parts of this task, and its parents. Raises FilterError.

    `after` is the `next` of the previous page. If it is empty, the page begins at the first part, in a long chain near
    the current part. `opened` names parts to show with their own parts, at most MOST_OPENED; parts with few of their
    own are always open. A chain and a group keep all of their parts. An iterator knows its open tasks, the latest 100
    that ended (or that failed), and those that come next.
    """
    if show not in SHOWN or (after and not _POSITION.fullmatch(after)):
        raise pagination.broken()
    if not may_be_id(id) or not NAME.fullmatch(pool):
        return Tree()
    asked = [each for each in opened if may_be_id(each)][:MOST_OPENED]
    reader, hide = open_reader(), redactor()
    root, above = reader.tree(pool, id, after, show, (PAGE, ROWS), asked)
    if root and show:
        _search_on(root, lambda at, taken: reader.tree(pool, id, at, show, (PAGE - taken, ROWS - taken), asked)[0])
    if root and (far := list(_far(id, root))):
        _find(reader, far)
    if root and show:
        _leave_out(root, show)
    return Tree(
        root=_branch(pool, root, hide) if root else None,
        above=tuple(
            Above(id=each.id, pool=each.pool or pool, name=cut(each.name, 200), kind=each.kind, state=each.state)
            for each in above
        ),
    )


def _search_on(root: BranchFacts, read: Callable[[str, int], BranchFacts | None]) -> None:
    """Search more parts: in several calls, so that none blocks the store for long."""
    for _ in range(SEARCHES - 1):
        found = read(root.next, len(root.rows)) if root.next and len(root.rows) < PAGE else None
        if found is None:
            return
        root.rows += found.rows
        root.next = found.next


def _far(id: str, branch: BranchFacts) -> Iterator[tuple[str, PartFacts]]:
    """Each part in another pool, with its parent."""
    for row in branch.rows:
        if row.pool:
            yield id, row
        if row.branch:
            yield from _far(row.id, row.branch)


def _find(reader: Reader, far: Sequence[tuple[str, PartFacts]]) -> None:
    """Read the parts of other pools, in one round trip for pools on the same server."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for parent, part in far:
        wanted.setdefault(part.pool, []).append((part.id, parent))
    found = reader.rows(wanted)
    for _, part in far:
        part.row = found.get((part.pool, part.id))
        part.silent = reader.silent.get(part.pool, "")


def _leave_out(branch: BranchFacts, show: str) -> None:
    """Filter the parts of other pools too."""
    branch.rows = [part for part in branch.rows if not part.pool or _is_shown(part, show)]
    for part in branch.rows:
        if part.branch:
            _leave_out(part.branch, show)


def _is_shown(part: PartFacts, show: str) -> bool:
    state = part.row.fields.get("s") if part.row else None
    return state is not None and (state in UNWELL if show == "failed" else state not in TERMINAL)


def _branch(pool: str, found: BranchFacts, hide: Redactor) -> Branch:
    return Branch(
        total=found.total,
        open=found.open,
        first=maybe_whole(found.first) or 0,
        next=found.next,
        counts=_counts(found),
        rows=tuple(_part(pool, row, hide, alone=found.total is None) for row in found.rows),
    )


def _counts(found: BranchFacts) -> tuple[tuple[str, int], ...]:
    """Counts by state; parts in other pools count as `elsewhere`, but for shown ones, whose pools were asked."""
    counts = Counter(found.counts)
    for row in found.rows:
        if row.pool and counts["elsewhere"]:
            counts["elsewhere"] -= 1
            counts[row.row.fields.get("s", "gone") if row.row else "gone"] += 1
    shown = ((state, count) for state, count in counts.items() if count)
    return tuple(sorted(shown, key=lambda item: _ORDER.get(item[0], len(_ORDER))))


def _part(pool: str, found: PartFacts, hide: Redactor, *, alone: bool) -> Part:
    """`alone`: whether the part can be retried alone; an ended part of a chain or group is retried with its parent."""
    number = None if found.order is None else found.order + 1
    branch = _branch(pool, found.branch, hide) if found.branch else None
    place = found.pool or pool
    if found.row is None:
        return Part(id=found.id, pool=place, number=number, elsewhere=bool(found.pool), silent=found.silent)
    field, row = found.row.fields.get, row_of(place, found.row, hide)
    if row.state in TERMINAL and not alone:
        row = replace(row, allowed=tuple(verb for verb in row.allowed if verb not in RUNNING_AGAIN))
    return Part(
        id=found.id,
        pool=place,
        number=number,
        elsewhere=bool(found.pool),
        task=row,
        begun_ms=maybe_whole(field("b")),
        ended_ms=maybe_whole(field("e")),
        branch=branch,
    )
