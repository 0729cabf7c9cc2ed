"""The Lua library uses no global that Redis 6.2, the oldest promised server, does not have."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from lupa.lua51 import LuaRuntime

from queueops.redis import library

KNOWN = """
error ipairs next pairs pcall select setmetatable tonumber tostring type unpack KEYS ARGV
bit bit.band bit.bor bit.bxor bit.lshift bit.rshift
cjson cjson.decode cjson.encode cjson.null
math math.abs math.ceil math.floor math.fmod math.huge math.max math.min
redis redis.call redis.error_reply redis.pcall redis.sha1hex redis.status_reply
string string.byte string.char string.find string.format string.gmatch string.gsub string.len string.lower string.match
string.rep string.reverse string.sub string.upper
table table.concat table.insert table.remove table.sort
"""
"""Globals of Redis 6.2, which later servers have, too. A server tells its own: `for name in pairs(_G)` in a script."""
OF_FUNCTIONS = "redis.register_function"
"""Only servers with functions get the text that uses it."""
GET_GLOBAL, GET_TABLE, SET_GLOBAL, CONSTANT = 5, 6, 7, 256


class Bytecode:
    """Reads what Lua 5.1's `string.dump` writes, on a machine of 64 bits."""

    def __init__(self, text: str) -> None:
        dump = LuaRuntime(encoding=None).eval(b"function(text) return string.dump(assert(loadstring(text))) end")
        self._rest = dump(text.encode())[12:]

    def _take(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize(f"<{form}")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return struct.unpack(f"<{form}", taken)

    def _text(self) -> str:
        return self._take(f"{self._take('Q')[0]}s")[0][:-1].decode("latin-1")  # type: ignore[attr-defined]

    def _constant(self) -> str:
        """A constant that is a text; others are of no interest."""
        match self._take("b")[0]:
            case 1:
                self._take("b")
            case 3:
                self._take("d")
            case 4:
                return self._text()
        return ""

    def globals(self) -> Iterator[tuple[str, int]]:
        """The globals of a function and those within it, with the line: `os`, and `os.clock` for a field."""
        self._text()
        self._take("ii4b")
        code = self._take(f"{self._take('i')[0]}I")
        constants = [self._constant() for _ in range(self._take("i")[0])]
        for _ in range(self._take("i")[0]):
            yield from self.globals()
        lines = self._take(f"{self._take('i')[0]}i")
        for _ in range(self._take("i")[0]):
            self._text()
            self._take("ii")
        for _ in range(self._take("i")[0]):
            self._text()
        for place, word in enumerate(code):
            if word & 63 not in (GET_GLOBAL, SET_GLOBAL):
                continue
            name, following = constants[word >> 14], code[place + 1]
            yield name, lines[place]
            field = (following >> 14 & 511) - CONSTANT
            if following & 63 == GET_TABLE and following >> 23 == word >> 6 & 255 and field >= 0:
                yield f"{name}.{constants[field]}", lines[place]


def unknown(text: str) -> set[str]:
    """The globals that are not on the list, with their places."""
    known = {*KNOWN.split(), OF_FUNCTIONS}
    found = Bytecode(text.replace("#!lua", "--", 1)).globals()
    return {f"{name} in {library.place(text, line, '')}" for name, line in found if name not in known}


def test_the_library_uses_only_globals_that_all_servers_have() -> None:
    assert unknown(library.library().text) == set()


@pytest.mark.parametrize(
    ("line", "name"),
    [("local at = os.clock()", "os.clock"), ("counter = 1", "counter"), ("local f = math.tointeger", "math.tointeger")],
)
def test_a_global_that_a_server_lacks_is_named(line: str, name: str) -> None:
    found = unknown(f"#!lua\ndo -- outer\nlocal function deep() return function()\n{line}\nend end\nend\n")
    assert f"{name} in lib/outer.lua, line 2" in found
