"""Changes of Python: conditions, constants, the order of arguments and statements, calls that are left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

Change = tuple[int, int, str]
_COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "is": "is not"}
_COMPARED |= {"not in": "in", "is not": "is"}
_OPERATORS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*")}


def changes(text: str) -> Iterator[Change]:
    """All changes of a source, as characters from, to, and the new text."""
    yield from _Changes(text).of(ast.parse(text))


class _Changes:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._encoded = [line.encode() for line in text.splitlines()]

    def of(self, node: ast.AST) -> Iterator[Change]:
        """The changes of a node and of what it holds; none of annotations, decorators and docstrings."""
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        yield from self._here(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "keywords" if _is_class(node) else ""):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.of(child)

    def _here(self, node: ast.AST) -> Iterator[Change]:
        match node:
            case ast.Compare(left=left, ops=[_], comparators=[right]):
                yield from self._between(left, right, _COMPARED)
            case ast.BoolOp(op=op, values=[first, second, *_]):
                yield from self._between(first, second, {"and": "or"} if isinstance(op, ast.And) else {"or": "and"})
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield *self._span(node), self._source(operand)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS and not _is_text(left, right):
                old, new = _OPERATORS[type(op)]
                yield from self._between(left, right, {old: new})
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield *self._span(test), f"(not ({self._source(test)}))"
            case ast.Constant(value=bool() as value):
                yield *self._span(node), str(not value)
            case ast.Constant(value=int() | float() as value):
                yield *self._span(node), repr(value + 1)
            case ast.Call(args=[first, second, *_]) if not isinstance(first, ast.Starred):
                if self._source(first) != self._source(second) and not isinstance(second, ast.Starred):
                    yield self._swapped(first, second)
            case ast.Expr(value=ast.Call()) if not _logs(node):
                yield *self._span(node), "pass"
        yield from self._orders(node)

    def _orders(self, node: ast.AST) -> Iterator[Change]:
        """Two calls that follow each other, in the other order."""
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            for first, second in pairwise(body) if isinstance(body, list) else ():
                if _is_call(first) and _is_call(second) and not (_logs(first) or _logs(second)):
                    yield self._swapped(first, second)

    def _swapped(self, first: ast.AST, second: ast.AST) -> Change:
        (begin, middle), (behind, end) = self._span(first), self._span(second)
        return begin, end, self._source(second) + self._text[middle:behind] + self._source(first)

    def _between(self, left: ast.AST, right: ast.AST, words: dict[str, str]) -> Iterator[Change]:
        """The operator between two operands."""
        begin, end = self._span(left)[1], self._span(right)[0]
        pattern = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        if found := re.search(pattern.replace(r"\ ", r"\s+"), self._text[begin:end]):
            yield begin + found.start(), begin + found.end(), words[" ".join(found[0].split())]

    def _source(self, node: ast.AST) -> str:
        begin, end = self._span(node)
        return self._text[begin:end]

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _place(self, line: int, column: int) -> int:
        return self._lines[line - 1] + len(self._encoded[line - 1][:column].decode())


def _is_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef)


def _is_text(*nodes: ast.AST) -> bool:
    return any(isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", 0), str) for node in nodes)


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _logs(node: ast.AST) -> bool:
    return ast.unparse(node).startswith(("logger.", "warnings.warn", "super().__init__"))
