"""Graph of a run: what each command and signal of a page of its history waited for, in layers, with folded repeats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from queueops.inspect import RunLine, RunSpan, RunView

EVENTS = ("done", "failed", "fired")
FROM_OUTSIDE = ("signal", "cancel")
LEAST_ALIKE = 3
"""So many commands of one name side by side are one box, as are so many rounds of a loop."""
LONGEST_LOOP = 4

Layers = list[list["Node"]]


class Node(msgspec.Struct, eq=False, kw_only=True):
    """Commands of one name, or a signal, and the nodes that it waited for."""

    spans: list[RunSpan]
    line: int  # the entry of the history that began it
    needs: list[Node]
    layer: int = 0
    into: Node | None = None  # the node that it is told with

    @property
    def is_command(self) -> bool:
        """Whether the code began it, and not another one."""
        return self.spans[0].kind not in FROM_OUTSIDE

    @property
    def alike(self) -> tuple[str, str]:
        """What nodes have in common that are told as one."""
        return self.spans[0].kind, self.spans[0].name

    @property
    def ended_ms(self) -> int | None:
        """When the last of its commands ended; None if one has not."""
        ends = [span.ended_ms for span in self.spans]
        return None if None in ends else max(end or 0 for end in ends)


def layers_of(run: RunView) -> Layers:
    """The nodes of a page, each in a layer after those that it waited for."""
    nodes = _nodes(run)
    deepest = 0
    for node in nodes:
        commands = [need.layer for need in node.needs if need.is_command]
        node.layer = 1 + max(commands, default=deepest) if node.needs else 0
        deepest = max(deepest, node.layer)
        for need in node.needs:
            need.layer = need.layer if need.is_command else node.layer - 1
    found = [[node for node in nodes if node.layer == depth] for depth in range(deepest + 1)]
    layers = _rounds_folded([_folded(layer) for layer in found if layer])
    _settle(layers)
    return layers


def critical_of(layers: Layers) -> frozenset[Node]:
    """The nodes that the end depends on: back from what ended last, or is open, to what each waited for last."""

    def latest(nodes: Iterable[Node]) -> Node | None:
        never = float("inf")
        return max(
            nodes, key=lambda node: (never if node.ended_ms is None else node.ended_ms, node.layer), default=None
        )

    found: list[Node] = []
    node = latest(node for layer in layers for node in layer if node.spans[0].outcome != "dropped")
    while node is not None and node not in found:
        found.append(node)
        node = latest(need for need in node.needs if need.ended_ms is not None)
    return frozenset(found)


def _nodes(run: RunView) -> list[Node]:
    """The nodes, in order. What a step begins waits for the events since the last step that began something."""
    spans = {span.number: span for span in run.spans}
    nodes: dict[int, Node] = {}
    came: list[Node] = []
    began, at = False, 0
    for line in run.lines:
        if line.kind == "step":
            came, began, at = ([] if began else came), False, line.at_ms or at
        elif line.kind in FROM_OUTSIDE:
            came.append(_node(nodes, -line.number, _from_outside(line, at), line, []))
        elif line.command in spans and line.kind in EVENTS:
            came.append(nodes.get(line.command) or _node(nodes, line.command, spans[line.command], line, []))
        elif line.command in spans and line.command not in nodes and spans[line.command].kind:
            earlier = {id(need) for event in came for need in event.needs}
            needs = [event for event in came if id(event) not in earlier]
            _node(nodes, line.command, spans[line.command], line, needs)
            began = began or line.kind != "timer"  # a timer does not count: it can be a timeout
    return list(nodes.values())


def _node(nodes: dict[int, Node], key: int, span: RunSpan, line: RunLine, needs: list[Node]) -> Node:
    nodes[key] = Node(spans=[span], line=line.number, needs=needs)
    return nodes[key]


def _from_outside(line: RunLine, at: int) -> RunSpan:
    """A signal or cancel, which most often has no time of its own: it ended when its step began."""
    name, ended_ms = line.name or line.kind, line.at_ms or at
    return RunSpan(number=line.number, kind=line.kind, name=name, ended_ms=ended_ms, outcome="done")


def _folded(layer: Iterable[Node]) -> list[Node]:
    """Nodes of a layer, those of one name as one if they are so many."""
    by_name: dict[tuple[str, str], list[Node]] = {}
    for node in layer:
        by_name.setdefault(node.alike, []).append(node)
    return [each for same in by_name.values() for each in (same if len(same) < LEAST_ALIKE else [_merged(same)])]


def _rounds_folded(layers: Layers) -> Layers:
    """Layers, those of the rounds of a loop as one round."""
    names = [sorted({node.alike for node in layer}) for layer in layers]
    found: Layers = []
    at = 0
    while at < len(layers):
        rounds, length = max((_rounds(names, at, length), -length) for length in range(1, LONGEST_LOOP + 1))
        if rounds < LEAST_ALIKE:
            rounds, length = 1, -1
        end = at - length * rounds
        for place in range(at, at - length):
            found.append(_folded(node for layer in layers[place:end:-length] for node in layer))
        at = end
    return found


def _rounds(names: Sequence[object], at: int, length: int) -> int:
    """How often the next layers, so many, come in a row."""
    rounds = 1
    while names[at : at + length] == names[at + rounds * length : at + (rounds + 1) * length]:
        rounds += 1
    return rounds


def _merged(same: Sequence[Node]) -> Node:
    """Several nodes in the place of the first one."""
    first, *others = same
    for node in others:
        node.into = first
        first.spans += node.spans
        first.needs += node.needs
    return first


def _settle(layers: Layers) -> None:
    """Let nodes wait for those that are told, each in a layer before."""
    for depth, layer in enumerate(layers):
        for node in layer:
            node.layer = depth
    for layer in layers:
        for node in layer:
            told = dict.fromkeys(_told(need) for need in node.needs)
            node.needs = [need for need in told if need.layer < node.layer]


def _told(node: Node) -> Node:
    while node.into is not None:
        node = node.into
    return node
