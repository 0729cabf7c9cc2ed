"""Order of sets: finds where the code of a workflow uses the order of a set, which differs between processes."""

from __future__ import annotations

import ast
from collections.abc import Callable

ADVICE = "the order of a set differs between processes: use sorted(...)"
ORDERED = frozenset(("list", "tuple", "iter", "enumerate", "zip", "map", "filter"))
"""Builtins whose result has the order of their arguments."""
UNORDERED = frozenset(("sorted", "set", "frozenset", "len", "sum", "min", "max", "any", "all"))
"""Builtins whose result does not depend on the order of a set of plain values."""
OF_SETS = frozenset(("union", "intersection", "difference", "symmetric_difference", "copy"))
_SETS = ("builtins.set", "builtins.frozenset")
_BUILTINS = "builtins."


class SetOrders:
    """Checks the expressions of one function. ``name_of`` gives the full name of an expression."""

    def __init__(self, name_of: Callable[[ast.expr], str], note: Callable[[ast.expr, str, str], None]) -> None:
        self._name_of = name_of
        self._note = note
        self._sets: set[str] = set()
        self._others: set[str] = set()
        self._free: set[ast.expr] = set()

    def note_name(self, node: ast.AST) -> None:
        """Note a name that the function binds to a set, or to something else."""
        match node:
            case ast.arg(annotation=ast.expr() as annotation):
                (self._sets if self._is_type_of_set(annotation) else self._others).add(node.arg)
            case ast.Assign(targets=[ast.Name(id=name)]):
                (self._sets if self._is_set(node.value) else self._others).add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                (self._sets if self._is_type_of_set(node.annotation) else self._others).add(name)

    def check_loop(self, over: ast.expr) -> None:
        """A loop over an expression."""
        self.check_values(over, f"for ... in {ast.unparse(over)}")

    def check_values(self, of: ast.expr, told: str) -> None:
        """The values of an expression, one after the other."""
        if of not in self._free and self._is_set(of):
            self._note(of, told, ADVICE)

    def check_call(self, node: ast.Call, name: str) -> None:
        """A call with a set: of a builtin that keeps the order, or that needs none."""
        builtin = name.removeprefix(_BUILTINS) if name.startswith(_BUILTINS) else ""
        for argument in node.args:
            if builtin in UNORDERED:
                self.needs_none(argument)
            elif builtin in ORDERED:
                self.check_values(argument, ast.unparse(node))

    def needs_none(self, node: ast.expr) -> None:
        """The loops of a comprehension in such a place may be over sets."""
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
            self._free.update(each.iter for each in node.generators)

    def _is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Name(id=name):
                return name in self._sets and name not in self._others
            case ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub()):
                return self._is_set(node.left)
            case ast.Call(func=ast.Attribute(attr=attribute) as function) if attribute in OF_SETS:
                return self._is_set(function.value)
            case ast.Call():
                return self._name_of(node.func) in _SETS
        return False

    def _is_type_of_set(self, node: ast.expr) -> bool:
        inner = node.value if isinstance(node, ast.Subscript) else node
        return self._name_of(inner) in _SETS
