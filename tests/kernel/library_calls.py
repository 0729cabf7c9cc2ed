"""Call graph of the Lua library: which commands a function of the library may send, by the text of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import NamedTuple

import queueops
from queueops.redis import library

FILES = sorted(Path(queueops.__file__).parent.rglob("*.lua"), key=lambda path: (path.stem, path))
MENDING = ("lib.note_broken", "lib.safe_call")
"""Write only where a key has a wrong type, and otherwise what they are given."""
_COMMENT = re.compile(r"--(?!@).*")
_BEGINS = re.compile(r"^(?:local )?function ([\w.]+)\(|^(?:local )?([\w.]+) = function|^(lib\.[\w.]+) = \w+$")
_LIB = re.compile(r"\blib(?:\.\w+)+")
_WORD = re.compile(r"'([A-Z]+)'")
_HOOK = "hook "


class Block(NamedTuple):
    """A function of a module: what it uses, and the commands that it names."""

    uses: frozenset[str]
    words: frozenset[str]


def _functions(path: Path) -> Iterator[tuple[str, str]]:
    """The functions of a module, each with its text; nested ones are a part of theirs."""
    name, lines = "", list[str]()
    for line in _COMMENT.sub("", path.read_text()).splitlines():
        if begins := _BEGINS.match(line):
            name, lines = next(filter(None, begins.groups())), []
        lines.append(line)
        if name and (line == "end" or (line.endswith(" end") and len(lines) == 1) or (begins and begins[3])):
            yield name, "\n".join(lines)
            name = ""


def _uses(text: str) -> list[str]:
    """The functions and tables that a text names, and the hooks that it calls, each with its words."""
    names = (name for name in _LIB.findall(text) if not name.startswith("lib.hooks"))
    return [*names, *(f"{_HOOK}{hook} {words}" for hook, words in library._calls(text))]


@cache
def blocks() -> dict[str, Block]:
    """The functions of all modules: those of `lib` by their names, those of one file by the file's name and theirs."""
    found: dict[str, Block] = {}
    for path in FILES:
        if path.parent.name != "lib":
            continue
        functions = list(_functions(path))
        own = {name for name, _ in functions if not name.startswith("lib.")}
        for name, text in functions:
            called = {f"{path.stem}:{each}" for each in own if re.search(rf"\b{each}\b", text)}
            key = name if name.startswith("lib.") else f"{path.stem}:{name}"
            words = () if name in MENDING else _WORD.findall(text)
            found[key] = Block(frozenset({*_uses(text), *called}), frozenset(words))
    return found


def _meant(used: str) -> list[str]:
    """The functions that a name stands for: one, all that fill a hook, or all of a table."""
    if used.startswith(_HOOK):
        hook, _, words = used.removeprefix(_HOOK).partition(" ")
        return [name for name in blocks() if name.startswith(f"lib.hooks.{hook}.") and name.endswith(words)]
    if used in blocks():
        return [used]
    return [name for name in blocks() if name.startswith(f"{used}.") or name == used]


def commands(path: Path, wanted: Set[str]) -> set[str]:
    """Those of the ``wanted`` commands that a function of the library, or what it calls, may send."""
    text = _COMMENT.sub("", path.read_text())
    words, seen, left = set(_WORD.findall(text)), set[str](), _uses(text)
    while left:
        used = left.pop()
        for name in _meant(used) if used not in blocks() else [used]:
            if name not in seen:
                seen.add(name)
                words |= blocks()[name].words
                left += blocks()[name].uses
    return words & wanted
