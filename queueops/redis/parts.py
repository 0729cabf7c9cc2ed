"""Functions of the scripts are made when the first one of their include is called, not in every run.

A script is a chunk of Lua that is run from its top each time: a hundred functions, of which a run needs thirty, are a
hundred closures, and each looks up the locals that it uses in the list of all that were used before. For ``exchange``
that took 110 microseconds, and 400 where an idle server's caches were cold: ten times what its commands take.

So the functions of an include become fields of one table, made together when a field is first missed. What is no
function (an include's variables) stays where it is. The base (``clock``, ``alone``, ``calls``), which comes first, is
made at once, and all else stands in a function of its own, for which the base's names are cheap to reach. What is done
between two includes of the base is done before the rest is made.
"""

from __future__ import annotations

import re

BASE = ("clock", "alone", "calls")
PART = re.compile(r"^--@part (\w+)\n(.*?)^--@end\n", re.MULTILINE | re.DOTALL)
_END = r"(?:[^\n]*\bend\n|[^\n]*\n(?:(?!end\n)[^\n]*\n)*end\n)"
_LOCAL = re.compile(rf"^(?:local )?function (\w+)\({_END}", re.MULTILINE)
_OPENING = """\
local PARTS = {}
local F = setmetatable({}, { __index = function(made, name)
  PARTS[string.match(name, '^%a+')](made)
  return rawget(made, name)
end })
return (function()
"""


def marked(name: str, text: str) -> str:
    """The text of an include, marked for ``made_late``."""
    return f"--@part {name}\n{text}--@end\n"


def made_late(body: str) -> str:
    """The body of a script whose includes are marked, with their functions made late."""
    ends = [match.end() for match in PART.finditer(body) if match[1] in BASE]
    base, rest = body[: max(ends, default=0)], body[max(ends, default=0) :]
    fields = {name: f"F.{part}_{name}" for part, text in PART.findall(rest) for name in _LOCAL.findall(text)}
    base = PART.sub(lambda match: match[2], base)
    rest = PART.sub(lambda match: _late(match[1], match[2]), rest)
    for name, field in fields.items():
        rest = re.sub(rf"(?<![\w.'\"]){name}(?=\()", field, rest)
    return f"{base}{_OPENING}{rest}end)()\n"


def _late(part: str, text: str) -> str:
    functions = [match[0].removeprefix("local ") for match in _LOCAL.finditer(text)]
    names = _LOCAL.findall(text)
    rest = _LOCAL.sub("", text)
    for name in names:  # a field needs no declaration ahead
        rest = re.sub(rf"^local {name}\n", "", rest, flags=re.MULTILINE)
    rest, tables = _tables(rest)
    made = f"function PARTS.{part}(F)\n{''.join(functions)}end\n" if functions else ""
    return rest + made + tables


def _tables(text: str) -> tuple[str, str]:
    """What has functions as fields (``local verbs = {}``, ``function verbs.retry(...)``) is filled late, too."""
    filled = ""
    for name in re.findall(r"^local (\w+) = \{\}\n", text, re.MULTILINE):
        field = re.compile(rf"^(?:function {name}\.\w+\({_END}|{name}\.\w+ = {name}\.\w+\n)", re.MULTILINE)
        found = [match[0] for match in field.finditer(text)]
        if found:
            text = field.sub("", text)
            filled += (
                f"setmetatable({name}, {{ __index = function({name}, key)\nsetmetatable({name}, nil)\n"
                f"{''.join(found)}return {name}[key]\nend }})\n"
            )
    return text, filled
