"""Lua linker: joins includes into one script, whose functions are created at their first call.

A script is a Lua chunk that runs from its top each time. Two hundred functions are two hundred closures, although one
run needs fifty. Each also looks up the locals that it uses in the list of all locals used before. For ``exchange`` that
took 110 microseconds, and 400 with an idle server's cold caches. That is ten times as long as its commands.

So the functions of includes become fields of one table, ``F``, each created on the first access. The functions of an
include share one maker, and makers are grouped. Few closures are then created, and few locals are looked up. Everything
that is not a function (an include's variables) stays before them. The base (`BASE`) comes
first and is created at once. The rest stands in one function, from which the base's names are cheap to reach. Code
between two includes of the base runs before the rest is created.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters
from typing import NamedTuple

BASE = ("context", "fast_push", "store_helpers")
PART = re.compile(r"^--@part (\w+)\n(.*?)^--@end\n", re.MULTILINE | re.DOTALL)
MOST_LOCALS = 45
"""Locals that one group of makers uses; Lua allows a function sixty upvalues."""
_END = r"(?:[^\n]*\bend\n|[^\n]*\n(?:(?!end\n)[^\n]*\n)*end\n)"
_LOCAL = re.compile(rf"^(?:local )?function (\w+)\({_END}", re.MULTILINE)
_NAMESPACE = re.compile(r"^local (\w+) = \{\}\n", re.MULTILINE)
_VARIABLES = re.compile(r"^local (?!function\b)([\w, ]+?)(?: =|\n)", re.MULTILINE)
_WORD = re.compile(r"(?<![\w.])[a-zA-Z_]\w*")
_CALLED = re.compile(r"(?<![\w.'\"])\w+(?=\()")
_GROUP = "do\nlocal function make()\n{}end\nmake()\nend\n"
_OPENING = """\
local MAKERS, byte = {}, string.byte
local F = setmetatable({}, { __index = function(made, name)
  MAKERS[byte(name)](made, name)
  return rawget(made, name)
end })
return (function()
"""


class _Part(NamedTuple):
    """An include: its letter (the first of its field names), its functions by field, and its other code."""

    letter: str
    functions: dict[str, str]
    rest: str


def marked(name: str, text: str) -> str:
    """The text of an include, marked for ``made_late``."""
    return f"--@part {name}\n{text}--@end\n"


def flattened(body: str) -> str:
    """The body with each namespace (a table whose functions are only called by name) replaced by plain functions."""
    for name in _NAMESPACE.findall(body):
        said = len(re.findall(rf"(?<![\w.'\"]){name}\b", body))
        called = rf"(?<![\w.'\"]){name}\.(\w+)(?=\()"
        if said == 1 + len(re.findall(called, body)) > 1:
            body = body.replace(f"local {name} = {{}}\n", "", 1)
            body = re.sub(rf"^function {name}\.(\w+)(?=\()", rf"local function {name}_\1", body, flags=re.MULTILINE)
            body = re.sub(called, rf"{name}_\1", body)
    return body


def made_late(body: str) -> str:
    """The body of a script whose includes are marked, with functions that are created at their first call."""
    ends = [match.end() for match in PART.finditer(body) if match[1] in BASE]
    base, rest = body[: max(ends, default=0)], body[max(ends, default=0) :]
    base = PART.sub(lambda match: match[2], base)
    parts = [_part(letter, text) for letter, (_, text) in zip(ascii_letters, PART.findall(rest), strict=False)]
    main = PART.sub("", rest)
    late = "".join(part.rest for part in parts) + "".join(_groups(parts, base)) + main
    fields: dict[str, str] = {}
    for field in (field for part in parts for field in part.functions):
        fields.setdefault(field[2:], f"F.{field}")
    late = _CALLED.sub(lambda match: fields.get(match[0], match[0]), late)  # one pass: a script has 500 functions
    return f"{base}{_OPENING}{late}end)()\n"


def _part(letter: str, text: str) -> _Part:
    text, filled = _tables(text)
    text += filled
    names = _LOCAL.findall(text)
    functions = [match[0].removeprefix("local ") for match in _LOCAL.finditer(text)]
    rest = _LOCAL.sub("", text)
    for name in names:  # a field needs no forward declaration
        rest = re.sub(rf"^local {name}\n", "", rest, flags=re.MULTILINE)
    return _Part(letter, {f"{letter}_{name}": text for name, text in zip(names, functions, strict=True)}, rest)


def _groups(parts: list[_Part], base: str) -> Iterator[str]:
    """Functions that return their includes' makers."""
    variables = {name for text in (base, *(part.rest for part in parts)) for name in _variables(text)}
    used: set[str] = set()
    makers = ""
    for part in parts:
        if part.functions:
            needs = variables & set(_WORD.findall("".join(part.functions.values())))
            if makers and len(used | needs) > MOST_LOCALS:
                yield _GROUP.format(makers)
                used, makers = set(), ""
            used |= needs
            makers += _maker(part)
    if makers:
        yield _GROUP.format(makers)


def _variables(text: str) -> Iterator[str]:
    for names in _VARIABLES.findall(text):
        yield from names.replace(" ", "").split(",")
    yield from _LOCAL.findall(text)


def _maker(part: _Part) -> str:
    cases = "else".join(f"if name == '{field}' then\n{text}" for field, text in part.functions.items())
    return f"MAKERS[{ord(part.letter)}] = function(F, name)\n{cases}end\nend\n"


def _tables(text: str) -> tuple[str, str]:
    """Fill tables of functions (``local verbs = {}``, ``function verbs.retry(...)``) on access, too."""
    filled = ""
    for name in re.findall(r"^local (\w+) = \{\}\n", text, re.MULTILINE):
        field = re.compile(rf"^(?:function {name}\.\w+\({_END}|{name}\.\w+ = {name}\.\w+\n)", re.MULTILINE)
        found = [match[0] for match in field.finditer(text)]
        if found:
            text = field.sub("", text)
            functions = "".join(_inside(each) for each in found)
            filled += (
                f"local function fill_{name}()\nsetmetatable({name}, nil)\n{functions}end\n"
                f"setmetatable({name}, {{ __index = function(_, key)\nfill_{name}()\nreturn {name}[key]\nend }})\n"
            )
    return text, filled


def _inside(text: str) -> str:
    """A function inside another one; only the outer function's end begins a line."""
    return re.sub(r"^end\n", " end\n", text, flags=re.MULTILINE)
