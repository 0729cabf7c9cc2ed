"""Code: small pieces of a syntax tree of libcst, read and made."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

UNKNOWN: Any = object()


def expression(text: str) -> cst.BaseExpression:
    """The tree of an expression."""
    return cst.parse_expression(text)


def text_of(node: cst.CSTNode) -> str:
    """The source of a node, in one line."""
    return " ".join(cst.Module([]).code_for_node(node).split())


def short(node: cst.CSTNode) -> str:
    """The source of a node for a message."""
    text = text_of(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


def literal(node: cst.BaseExpression | None) -> Any:
    """The value of a literal; UNKNOWN for all other code."""
    if node is None:
        return UNKNOWN
    try:
        return ast.literal_eval(text_of(node))
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return UNKNOWN


def named(name: str, value: cst.BaseExpression | str) -> cst.Arg:
    """A named argument, as `name=value`."""
    node = expression(value) if isinstance(value, str) else value
    bare = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(node, cst.Name(name), bare)


def keywords(args: Sequence[cst.Arg]) -> dict[str, cst.BaseExpression]:
    """The named arguments of a call."""
    return {arg.keyword.value: arg.value for arg in args if arg.keyword is not None}


def positional(args: Sequence[cst.Arg]) -> list[cst.Arg]:
    """The arguments of a call that have no name, with `*args`."""
    return [arg for arg in args if arg.keyword is None and arg.star != "**"]


def has_stars(args: Sequence[cst.Arg]) -> bool:
    """Whether a call unpacks a list or a dict into its arguments."""
    return any(arg.star for arg in args)


def laid_out(new: Sequence[cst.Arg], old: Sequence[cst.Arg]) -> list[cst.Arg]:
    """The new arguments with the commas, line ends and comments of the old ones."""
    if not new or not old:
        return list(new)
    last = old[-1]
    between = _comma(old[0].comma, None) if len(old) > 1 else cst.MaybeSentinel.DEFAULT
    inner = []
    for arg in new[:-1]:
        comma = arg.comma
        if comma is last.comma or not isinstance(comma, cst.Comma):
            comma = _comma(between, comma)
        inner.append(arg.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace("")))
    end = last.comma if new[-1].comma is last.comma else _comma(last.comma, new[-1].comma)
    return [*inner, new[-1].with_changes(comma=end, whitespace_after_arg=last.whitespace_after_arg)]


def _comma(shape: Any, comment: Any) -> Any:
    """A comma with the line end of one and the comment of another."""
    if not isinstance(shape, cst.Comma) or not isinstance(shape.whitespace_after, cst.ParenthesizedWhitespace):
        return shape
    kept = comment.whitespace_after if isinstance(comment, cst.Comma) else None
    line = kept.first_line if isinstance(kept, cst.ParenthesizedWhitespace) else cst.TrailingWhitespace()
    return shape.with_changes(whitespace_after=shape.whitespace_after.with_changes(first_line=line))


def call_of(func: cst.BaseExpression | str, args: Sequence[cst.Arg] = ()) -> cst.Call:
    """A call with fresh commas."""
    made = expression(func) if isinstance(func, str) else func
    fresh = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in args]
    return cst.Call(made, fresh)


def method(value: cst.BaseExpression, name: str, args: Sequence[cst.Arg] = ()) -> cst.Call:
    """A call of a method."""
    return call_of(cst.Attribute(value, cst.Name(name)), args)


def broken(call: cst.Call, longest: int = 88) -> cst.Call:
    """The same call, with a line for each argument if it is long."""
    if not call.args or len(text_of(call)) <= longest:
        return call
    inner = cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace("    "))
    args = [arg.with_changes(comma=cst.Comma(whitespace_after=inner)) for arg in call.args]
    args[-1] = args[-1].with_changes(comma=cst.Comma(whitespace_after=cst.ParenthesizedWhitespace(indent=True)))
    return call.with_changes(args=args, whitespace_before_args=inner)


def dict_items(node: cst.BaseExpression | None) -> Mapping[str, cst.BaseExpression] | None:
    """The items of a dict display or a call of dict() whose keys are texts; None for all other code."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "dict":
        return None if has_stars(node.args) or positional(node.args) else keywords(node.args)
    if not isinstance(node, cst.Dict):
        return None
    found = {}
    for element in node.elements:
        key = literal(element.key) if isinstance(element, cst.DictElement) else UNKNOWN
        if not isinstance(key, str):
            return None
        found[key] = element.value
    return found


def is_name(node: cst.CSTNode | None, *names: str) -> bool:
    """Whether a node is one of these plain names."""
    return isinstance(node, cst.Name) and node.value in names


def is_none(node: cst.CSTNode | None) -> bool:
    """Whether a node is None."""
    return is_name(node, "None")


def in_brackets(node: cst.BaseExpression) -> cst.BaseExpression:
    """The same expression in brackets, unless it has them or needs none."""
    simple = (cst.Name, cst.Attribute, cst.Call, cst.Integer, cst.Subscript)
    if isinstance(node, simple) or node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
