"""Flattening: turns a tree of parts into the nodes to write; finds every error before anything is written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from queueops import conf
from queueops.errors import NotEncodable, PayloadTooLarge
from queueops.errors.composites import CompositeTooLarge, Cycle, EmptyComposite, IdTwice, NoPart
from queueops.kinds.composites.parts import PART_ADVICE, Composite, Part, Signature
from queueops.model.contracts import DEFAULT_LANE, Conflict, Node, Push
from queueops.model.ids import new_id
from queueops.model.weights import shown, weights_below
from queueops.tasks.encoding import encode_arguments
from queueops.tasks.metadata import merged
from queueops.tasks.options import Options

MOST_NODES, DEEPEST = 10_000, 1_000
LONGEST_SHOWN = 4096  # bytes


@dataclass(slots=True)
class _Place:
    """A part, its place in the tree, and whether it gets the result of the part before it."""

    part: Part
    parent: int
    order: int
    after: bool
    depth: int
    above: frozenset[Any]
    meta: bytes = b""


def nodes_of(root: Composite) -> list[Node]:
    """The nodes of a tree, from the root down, one level at a time. Raises the errors of all parts."""
    found = list(_walk(root))
    _fill_in_pools(found)
    first = found[0].push
    seen: set[str] = set()
    for node in found:
        push = node.push
        if push.id in seen:
            raise IdTwice(id=push.id, name=root.name)
        seen.add(push.id)
        if node.parent >= 0:
            push.root = first.id
    first.own = (*first.own, ("to", shown(weights_below(found)[0])), ("pr", 0))
    return found


def _walk(root: Composite) -> Iterator[Node]:
    waiting = deque([_Place(root, -1, 0, False, 1, frozenset())])
    count = 0
    while waiting:
        place = waiting.popleft()
        if count == MOST_NODES:
            raise CompositeTooLarge(name=root.name, limit=MOST_NODES, what="tasks", advice="Use an Iterator.")
        after = place.after and not place.part.ignores_previous
        if isinstance(place.part, Composite):
            composite, above = _expanded(place, place.part)
            _refuse_empty(composite, is_root=not count)
            push = _composite_push(composite, _to_show(place.part))
            push.meta = merged(place.meta, push.meta)
            waiting.extend(
                _Place(
                    part,
                    count,
                    order,
                    after or (composite.kind == "chain" and order > 0),
                    place.depth + 1,
                    above,
                    push.meta,
                )
                for order, part in enumerate(composite.parts)
            )
        else:
            push = _leaf_push(place.part, after)
            push.meta = merged(place.meta, push.meta)
        if place.part.ignores_previous:
            push.own = (*push.own, ("si", 1))
        yield Node(push, place.parent, place.order)
        count += 1


def _refuse_empty(part: Composite, *, is_root: bool) -> None:
    """An empty group in a composite gives an empty list. An empty chain has no such value, and cannot be pushed."""
    if not part.parts and (is_root or part.kind == "chain"):
        raise EmptyComposite(what=part.kind if part.name == part.kind else f"{part.kind} {part.name}")


def _expanded(place: _Place, part: Composite) -> tuple[Composite, frozenset[Any]]:
    if place.depth > DEEPEST:
        raise CompositeTooLarge(name=part.name, limit=DEEPEST, what="levels", advice="Make it flatter.")
    args, kwargs = part.arguments()
    if not (args or kwargs or part.is_template):
        return part.expanded(), place.above
    key = (part.name, repr(args), repr(kwargs))
    if key in place.above:
        raise Cycle(name=part.name)
    return part.expanded(), place.above | {key}


def _to_show(part: Composite) -> bytes:
    """The arguments of a template, for display: `init` has used them. Empty if they are too long or not encodable."""
    args, kwargs = part.arguments()
    try:
        data = encode_arguments(part.name, args, kwargs)
    except (NotEncodable, PayloadTooLarge):
        return b""
    return data if len(data) <= LONGEST_SHOWN else b""


def _composite_push(part: Composite, args: bytes) -> Push:
    options = part.options
    fields = options.push_fields(conf.current())
    fields = {name: value for name, value in fields.items() if name not in ("retries", "retry", "timeout_ms", "lane")}
    fields |= {"pool": options.pool if part.own_pool else "", "lane": DEFAULT_LANE}
    own: list[tuple[str, str | int]] = [*fields.pop("own", ()), ("cc", len(part.parts))]
    if part.on_failure != "fail":
        own.append(("of", part.on_failure))
    push = Push(
        id=options.id or new_id(), name=part.name, kind=part.kind, own=tuple(own),
        args=args, **fields,
    )  # fmt: skip
    if options.id is None:
        push.conflict = Conflict.NEW
    return push


def _leaf_push(part: Part, after: bool) -> Push:
    if not isinstance(part, Signature):
        raise NoPart(value=repr(part)[:100], name="a composite", advice=PART_ADVICE)
    return part.task.as_part(part.args, part.kwargs, after=after)


def _fill_in_pools(nodes: list[Node]) -> None:
    """The pool of a composite: its own option, else the pool of its parent, or of its first task."""
    default = next((pool for pool in _pools_in_order(nodes) if pool), Options().pool)
    for node in nodes:
        node.push.pool = node.push.pool or (nodes[node.parent].push.pool if node.parent >= 0 else default)


def _pools_in_order(nodes: list[Node]) -> Iterator[str]:
    """The pools of the parts, depth first; an empty group without a pool of its own has none."""
    below: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        below.setdefault(node.parent, []).append(number)
    waiting = [0]
    while waiting:
        number = waiting.pop()
        yield nodes[number].push.pool
        waiting += reversed(below.get(number, ()))
