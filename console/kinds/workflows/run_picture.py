"""Picture of a run: its commands and signals from left to right, each with arrows from what it waited for."""

from __future__ import annotations

from collections import Counter

import msgspec

from console.diagram import graph
from console.diagram.graph import Arrow, Box, Graph, Piece
from console.kinds.workflows import run_words
from console.kinds.workflows.run_graph import Layers, Node, critical_of, layers_of
from console.kinds.workflows.timeline import STATES
from console.ui import formatting
from console.ui.links import task_url
from queueops import inspect
from queueops.inspect import RunView

SIZES = (("wide", graph.WIDE), ("narrow", graph.NARROW))
Place = tuple[float, float, float]


class Picture(msgspec.Struct, frozen=True):
    """The drawings for wide and narrow screens."""

    graphs: tuple[Graph, ...]
    has_critical: bool


def picture(run: RunView, pool: str) -> Picture | None:
    """The picture of a page of the history; None for fewer than two commands."""
    layers = layers_of(run)
    if not layers or len(run.spans) < 2:
        return None
    drawing = _Drawing(run, pool, layers)
    graphs = tuple(Graph.of(name, drawing.piece(room, narrow=name == "narrow")) for name, room in SIZES)
    return Picture(graphs, len(drawing.critical) > 1)


class _Drawing:
    """What both drawings share."""

    def __init__(self, run: RunView, pool: str, layers: Layers) -> None:
        self.pool, self.layers, self.critical = pool, layers, critical_of(layers)
        self.states = {call.number: call.state for call in run.calls if call.name and call.state}
        nodes = [node for layer in layers for node in layer]
        self.ends = {id(node): inspect.now_ms() if node.ended_ms is None else node.ended_ms for node in nodes}
        begun = [span.begun_ms for node in nodes for span in node.spans if span.begun_ms is not None]
        self.whole = (min(begun, default=0), max(self.ends.values()))

    def piece(self, room: float, *, narrow: bool) -> Piece:
        """The layers side by side, in as many rows as they need."""
        x, y, low = 0.0, 0.0, 0.0
        boxes: list[Box] = []
        places: dict[int, tuple[Box, Place]] = {}
        for layer in self.layers:
            column = graph.in_rows(
                [graph.boxed(self._box(node, room if narrow else graph.WIDTH)) for node in layer], room, 1
            )
            if x and (narrow or x + column.width > room):
                x, y = 0.0, low + graph.GAP
            placed = [shape for shape in column.moved(x, y).shapes if isinstance(shape, Box)]
            for node, box in zip(layer, placed, strict=True):
                places[id(node)] = box, (x, y, column.height)
            boxes += placed
            x, low = x + column.width + graph.GAP, max(low, y + column.height)
        return Piece(max(box.x + box.width for box in boxes), low, tuple(boxes), self._arrows(places))

    def _arrows(self, places: dict[int, tuple[Box, Place]]) -> tuple[Arrow, ...]:
        """An arrow from each node that another waited for; between rows from layer to layer."""
        found: dict[tuple[float, ...], Arrow] = {}
        for node in (node for layer in self.layers for node in layer):
            for need in node.needs:
                critical = node in self.critical and need in self.critical
                arrow = _arrow(*places[id(need)], *places[id(node)], critical=critical)
                spots = (arrow.x1, arrow.y1, arrow.x2, arrow.y2)
                if critical or spots not in found:
                    found[spots] = arrow
        return tuple(found.values())

    def _box(self, node: Node, width: float) -> Box:
        span, many = node.spans[0], len(node.spans) > 1
        is_unnamed = span.name in ("", span.kind)
        counts = Counter(each.outcome for each in node.spans)
        state = "failed" if counts["failed"] else "locked" if counts["open"] else STATES.get(span.outcome, "pending")
        state = state if many else self.states.get(span.number, state)
        return Box(
            width=width,
            name=(run_words.command(span.kind) if is_unnamed else span.name) or f"#{span.number}",
            number=f"{formatting.count(len(node.spans))} × " if many else "",
            words=graph.counted((run_words.outcome(word), n) for word, n in counts.most_common())
            if many
            else self._words(node),
            state=state,
            url=task_url(span.task, self.pool) if span.task and not many else f"#history-{node.line}",
            tracks=self._tracks(node, counts, state),
            many=many,
            critical=node in self.critical,
        )

    def _words(self, node: Node) -> str:
        """Its kind, outcome and time."""
        span = node.spans[0]
        took = "" if span.begun_ms is None else formatting.span(max(0, self.ends[id(node)] - span.begun_ms))
        kind = run_words.command(span.kind) if span.name not in ("", span.kind) else ""
        outcome = run_words.outcome(span.outcome) if node.is_command else ""
        return " · ".join(word for word in (kind, outcome, took) if word)

    def _tracks(self, node: Node, counts: Counter[str], state: str) -> tuple[graph.Track, ...]:
        if len(node.spans) > 1:
            return graph.count_track(
                [(STATES.get(outcome, "pending"), count) for outcome, count in counts.most_common()]
            )
        return graph.time_track(node.spans[0].begun_ms, node.ended_ms, self.whole, state)


def _arrow(source: Box, of_source: Place, target: Box, of_target: Place, *, critical: bool) -> Arrow:
    (x, y, height), (left, top, _height) = of_source, of_target
    if y == top:
        x1, y1, x2, y2 = source.x + source.width, source.y + graph.HEIGHT / 2, target.x, target.y + graph.HEIGHT / 2
    else:
        half = min(source.width, graph.WIDTH) / 2
        x1, y1, x2, y2 = x + half, y + height, left + half, top
    return Arrow(x1=x1, y1=y1, x2=x2, y2=y2, down=y != top, critical=critical)
