"""Composites in the outbox of a database: the tree of one is a row."""

from __future__ import annotations

import os

import msgspec

from queueops.kinds.composites import stand_in
from queueops.kinds.composites.composite_store import CompositeStore
from queueops.model.contracts import Node, Push
from queueops.tasks import outbox
from queueops.tasks.outbox import Form, Kept


class Tree(msgspec.Struct, array_like=True):
    """The nodes of a composite, from the root down."""

    nodes: list[Node]
    durable: bool = False


def kept_tree(nodes: list[Node], *, durable: bool) -> Kept:
    """The row of a composite. Its root gets a token, by which the store recognises a second push."""
    root = nodes[0].push
    root.token = root.token or os.urandom(6).hex()
    return Kept("tree", root, Tree(nodes, durable))


def _send(broker: CompositeStore, tree: Tree) -> None:
    pushed = stand_in.resolved(tree.nodes, lambda: broker.plant(tree.nodes, durable=tree.durable))
    outbox.sent(tree.nodes[0].push, pushed)


def _begin(tree: Tree) -> tuple[Push, ...]:
    return (tree.nodes[0].push,)


FORMS = {"tree": Form(Tree, _send, _begin)}
