"""Inspection of composites: the tree of a task's parts, and what an action on one of them does to the others."""

from queueops.kinds.composites.inspect.graph import GraphNode, parts_graph
from queueops.kinds.composites.inspect.side_effects import REACHING, effects, effects_on_many, rule
from queueops.kinds.composites.inspect.trees import Above, Branch, Part, Tree, tree

__all__ = [
    "REACHING",
    "Above",
    "Branch",
    "GraphNode",
    "Part",
    "Tree",
    "effects",
    "effects_on_many",
    "parts_graph",
    "rule",
    "tree",
]
