"""Changes of Lua: conditions, constants, the order of calls, calls that are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

Change = tuple[int, int, str]
_HIDDEN = re.compile(r"--\[\[.*?\]\]|--[^\n]*|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_WORDS = {"==": "~=", "~=": "==", "<=": "<", ">=": ">", "<": "<=", ">": ">=", "and": "or", "or": "and"}
_WORDS |= {"true": "false", "false": "true", "+": "-", "-": "+", "not": ""}
_TOKEN = re.compile(r"==|~=|<=|>=|<|>|\b(?:and|or|not|true|false)\b|(?<=[\w)] )[+-](?= [\w(])|(?<![\w.])\d+(?![\w.])")
_CALL = re.compile(r"^[ \t]*((?:call|[\w.]+\.[\w.]+)\([^\n]*\))[ \t]*$", re.MULTILINE)


def changes(text: str) -> Iterator[Change]:
    """All changes of a source, as characters from, to, and the new text. Comments and texts stay."""
    code = _HIDDEN.sub(lambda found: " " * len(found[0]), text)
    for found in _TOKEN.finditer(code):
        word = found[0]
        yield found.start(), found.end(), str(int(word) + 1) if word.isdigit() else _WORDS[word]
    calls = [found for found in _CALL.finditer(code) if _is_whole(found[1])]
    for found in calls:
        yield found.start(1), found.end(1), ""
    for first, second in pairwise(calls):
        (begin, middle), (behind, end) = first.span(1), second.span(1)
        if not code[middle:behind].strip():
            yield begin, end, text[behind:end] + text[middle:behind] + text[begin:middle]


def _is_whole(call: str) -> bool:
    """Whether the brackets of a call are closed in its line, and nothing follows them."""
    depth = 0
    for at, letter in enumerate(call):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter == ")":
            return at == len(call) - 1
    return False
