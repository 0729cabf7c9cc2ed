"""Lines of the log: each has a text of its own first, with a place for each value that follows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
_PLACE = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[sdrfgx]")


def lines_of(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls of a logger."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger" | "log"), attr=level)) if level in LEVELS:
                yield node


def wrong(call: ast.Call) -> bool:
    """Whether the text has not as many places as values follow. A constant's own text is not looked at."""
    match call.args:
        case [ast.Constant(value=str() as text), *values] if values:
            return len(_PLACE.findall(text.replace("%%", ""))) != len(values)
        case [ast.Name(id=name), *values] if values:
            return not (name.isupper() or isinstance(values[0], ast.Starred))
        case [_]:  # the values of a text that is made here are in it
            return False
    return True


def test_each_line_of_the_log_has_a_text_with_a_place_for_each_value() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for folder in ("queueops", "console")
        for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
        if "logger." in (text := path.read_text())
        for call in lines_of(ast.parse(text))
        if wrong(call)
    ]
    assert found == []
