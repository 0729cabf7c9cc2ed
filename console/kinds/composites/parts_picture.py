"""Picture of a composite: a chain as a row with arrows, a group side by side, each of their composites in a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.diagram import graph
from console.diagram.graph import Box, Frame, Graph, Piece
from console.ui import formatting, state_badges
from console.ui.links import task_url
from queueops import inspect
from queueops.inspect import GraphNode
from queueops.model.states import TERMINAL

SIZES = (("wide", graph.WIDE), ("narrow", graph.NARROW))
TALL = 5
"""Rows of a group, before it gets another column."""
BAD = ("failed", "quarantined", "cancelled", "locked")
"""States whose colour a box of many parts has, if one of them is in it."""
UNSTARTED = ("waiting", "gone")


class Picture(msgspec.Struct, frozen=True):
    """The drawings for wide and narrow screens; `left_out`: parts that were not read."""

    graphs: tuple[Graph, ...]
    took_ms: int
    left_out: int
    has_critical: bool


def draw(root: GraphNode | None) -> Picture | None:
    """The picture of a composite; None for a task without known parts."""
    if root is None or not root.parts:
        return None
    drawing = _Drawing(root)
    graphs = tuple(Graph.of(name, drawing.parts(root, room, name == "narrow")) for name, room in SIZES)
    left_out = sum(max(0, (node.total or 0) - node.read) for node in _all(root))
    return Picture(graphs, drawing.whole[1] - drawing.whole[0], left_out, len(drawing.critical) > 1)


def _all(node: GraphNode) -> Iterator[GraphNode]:
    yield node
    for part in node.parts:
        yield from _all(part)


def _unfolded(root: GraphNode) -> frozenset[int]:
    """The composites that are drawn with their parts: level by level, as long as the boxes are few enough."""
    found, boxes, level = set[int](), 1, [root]
    while level:
        below = list[GraphNode]()
        for node in level:
            if node.parts and boxes - 1 + len(node.parts) <= graph.MOST_BOXES:
                found.add(id(node))
                boxes += len(node.parts) - 1
                below += node.parts
        level = below
    return frozenset(found)


def _critical(node: GraphNode) -> Iterator[GraphNode]:
    """What the end of the whole depends on: all of a chain, and of a group the part that ends last."""
    yield node
    ended = all(map(_is_over, node.parts))
    chain = [part for part in node.parts if not ended or _begun(part)]
    for part in chain if node.kind == "chain" else _last(node.parts):
        yield from _critical(part)


def _last(parts: Sequence[GraphNode]) -> Sequence[GraphNode]:
    """The part that has not ended and began first, else the one that ended last; none while others have to begin."""
    going = [part for part in parts if not _is_over(part)]
    if going:
        return [part for part in going if _begun(part)][:1]
    ended = [part for part in parts if part.ended_ms is not None]
    return [max(ended, key=lambda part: part.ended_ms or 0)] if ended else ()


def _is_over(part: GraphNode) -> bool:
    return all(state in TERMINAL or state == "gone" for state, _count in part.counts)


def _begun(part: GraphNode) -> bool:
    return part.begun_ms is not None or any(map(_begun, part.parts))


def _time_of(root: GraphNode) -> tuple[int, int]:
    """From the first beginning to the last end, or until now if something goes on."""
    begun = [part for part in _all(root) if part.begun_ms is not None]
    if not begun:
        return 0, 0
    ends = [part.ended_ms or (part.begun_ms if _is_over(part) else inspect.now_ms()) for part in begun]
    return min(part.begun_ms or 0 for part in begun), max(end or 0 for end in ends)


class _Drawing:
    """What all parts of one picture share."""

    def __init__(self, root: GraphNode) -> None:
        self.whole = _time_of(root)
        self.critical = frozenset(map(id, _critical(root)))
        self._unfolded = _unfolded(root)

    def parts(self, node: GraphNode, room: float, narrow: bool) -> Piece:
        """The parts of a node, in rows."""
        pieces = [self._piece(part, node, room, narrow) for part in node.parts]
        if node.kind != "chain":
            return graph.in_rows(pieces, room, 1 if narrow else -(-len(pieces) // TALL))
        joins = [(id(part) in self.critical, all(s in UNSTARTED for s, _n in part.counts)) for part in node.parts]
        return graph.in_rows(pieces, room, len(pieces), joins)

    def _piece(self, node: GraphNode, above: GraphNode, room: float, narrow: bool) -> Piece:
        if id(node) not in self._unfolded:
            return graph.boxed(self._box(node, above, room if narrow else graph.WIDTH))
        inner = self.parts(node, room - 2 * graph.PAD, narrow)
        url, critical = task_url(node.id, node.pool, "task-children"), id(node) in self.critical
        frame = Frame(width=0, height=0, name=_label(node), state=node.state, url=url, critical=critical)
        return graph.framed(inner, frame)

    def _box(self, node: GraphNode, above: GraphNode, width: float) -> Box:
        many = node.size > 1
        state = next((bad for bad in BAD if dict(node.counts).get(bad)), node.counts[0][0])
        tracks = (
            graph.count_track(node.counts)
            if many
            else graph.time_track(node.begun_ms, node.ended_ms, self.whole, node.state)
        )
        return Box(
            width=width,
            name=_label(node),
            number=f"{formatting.count(node.size)} × " if many and node.name else "",
            words=_words(node),
            state=state,
            url=task_url(node.id, node.pool) if node.id else _url_of_many(node, above),
            tracks=tracks,
            many=many,
            critical=id(node) in self.critical,
        )


def _url_of_many(node: GraphNode, above: GraphNode) -> str:
    """The list of the composite's parts: those that failed, if some did."""
    states = {state for state, _count in node.counts}
    open_ones = states - {*TERMINAL, "gone"}
    show = "failed" if states & {"failed", "cancelled", "quarantined"} else "open" if open_ones else ""
    return task_url(above.id, above.pool, "task-children", show=show)


def _label(node: GraphNode) -> str:
    """Its name, with the number of its own parts; of parts with several names their number."""
    if node.size > 1:
        return node.name or _("%(number)s parts") % {"number": formatting.count(node.size)}
    name = node.name or node.kind or node.id
    if node.total is None:
        return name
    parts = ngettext("%(number)s part", "%(number)s parts", node.total) % {"number": formatting.count(node.total)}
    return f"{name} · {parts}"


def _words(node: GraphNode) -> str:
    """Its state, and how long it ran; of many parts how many are in each state."""
    if node.size > 1:
        counts = sorted(node.counts, key=lambda each: BAD.index(each[0]) if each[0] in BAD else len(BAD))
        return graph.counted((state_badges.label(state), number) for state, number in counts)
    state = state_badges.label(node.state or "gone")
    if node.begun_ms is None:
        return state
    until = node.ended_ms if node.ended_ms is not None else None if _is_over(node) else inspect.now_ms()
    return state if until is None else f"{state} · {formatting.span(max(0, until - node.begun_ms))}"
