"""A record of what the functions of the Lua library write: none may refuse after its first write."""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from typing import Any

from queueops.redis import library
from queueops.redis.query_replies import text
from queueops.redis.scripts import Scripts
from tests.kernel.desk import FOREVER

BEFORE = """\
local recorded, real = {}, redis
local function record(command, key)
  if WRITES[command] and not string.find(key, COUNTED) then recorded[#recorded + 1] = command .. ' ' .. key end
end
local redis = setmetatable({
  call = function(...) record(...); return real.call(...) end,
  pcall = function(...) record(...); return real.pcall(...) end,
}, { __index = real })
"""
COUNTED = "^{[^}]*}:metrics:"
"""Counters of a minute, which count refusals, too."""
LAST, RECORDED = "return run()\n", "local reply = run()\nreturn { recorded, reply }\n"
REFUSALS = {
    *(
        "STALE",
        "GONE",
        "REFUSED",
        "EXISTS",
        "REJECTED",
        "TAKEN",
        "ENDED",
        "DRAINING",
        "NONE",
        "JOBS",
        "HELD",
        "STOP",
        "FULL",
    ),
}
"""Words by which a function says that it has done nothing."""
ROWS = {"control": slice(1, -1, 3), "displace": slice(0, None, 2), "redeliver": slice(2, None, 3)}
"""Where the words of each row are, in replies with several; the others have one word, at the beginning."""


def words_of(name: str, reply: Any) -> set[str]:
    """The words of a reply."""
    found = [reply] if isinstance(reply, bytes) else reply if isinstance(reply, list) else []
    part = found[ROWS[name]] if name in ROWS and found[:1] != [b"STALE"] else found[:1]
    return {word.decode() for word in part if isinstance(word, bytes)}


class RecordedScripts(Scripts):
    """Sends each function as a script that returns what it has written, beside its reply. Refusals are checked."""

    refused: defaultdict[str, set[str]] = defaultdict(set)
    """The words with which each function has refused."""
    wrong: list[str] = []  # all brokers of a test share it
    """Refusals after a write."""

    def __init__(self, servers: Any) -> None:
        super().__init__(servers)
        self.without_functions(FOREVER)

    @functools.cached_property
    def _writes(self) -> str:
        client = next(iter(self._servers.clients().values()))
        names = [name.upper() for name, facts in client.command().items() if "write" in facts["flags"]]
        return f"local WRITES = {{ {', '.join(f'{name} = true' for name in names if name.isalpha())} }}\n"

    def _text(self, name: str) -> str:
        first, _, rest = library.script(name).partition("\n")
        assert rest.endswith(LAST)
        begin = f"local COUNTED = '{COUNTED}'\n{self._writes}{BEFORE}"
        return f"{first}\n{begin}{rest.removesuffix(LAST)}{RECORDED}"

    def command(self, name: str) -> tuple[str, str]:
        """EVALSHA of the recording script."""
        digest = self._digests.get(name)
        if digest is None:
            sent = self._text(name).encode()
            digest = self._digests[name] = hashlib.sha1(sent, usedforsecurity=False).hexdigest()
        return "EVALSHA", digest

    def _evaluate(self, name: str, call: tuple[Any, ...], execute: Any) -> Any:
        return execute("EVAL", self._text(name), 1, *call)

    def send(self, name: str, prefix: str, *arguments: Any) -> Any:
        """Call a function, and check that it has not written before it refused."""
        writes, *rest = super().send(name, prefix, *arguments)
        reply = rest[0] if rest else None
        words = words_of(name, reply)
        if words and words <= REFUSALS:
            self.refused[name] |= words
            if writes:
                said = [text(write) for write in writes[:3]]
                self.wrong.append(f"{name} {arguments[:3]} answered {words} after {said}")
        return reply
