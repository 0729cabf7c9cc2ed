"""Script loader: a script is one Lua file, preceded by the includes that it names.

``--@include NAME`` stands for ``lua/include/NAME.lua``, or for the includes that this file names. The state tables of
the scripts are generated from ``queueops.model.states``, so that the state names are written once.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections import Counter
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple, TypeVar

import hiredis
from redis.exceptions import NoScriptError, ReadOnlyError, ResponseError

from queueops.model import states
from queueops.redis import deadlines, lua_linker
from queueops.redis.connections import own_connection, read_reply, socket_of
from queueops.redis.servers import Cluster, OneServer
from queueops.redis.spin_wait import SpinWait

_INCLUDE = re.compile(r"^--@include (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--(?!@).*\n", re.MULTILINE)
_FUNCTION = re.compile(r"^local function (\w+)\((?:[^\n]*\bend\n|[^\n]*\n(?:(?!end\n)[^\n]*\n)*end\n)", re.MULTILINE)
_WORD = re.compile(r"(?<![\w.])\w+")
_NO_USE = re.compile(r"^--@.*\n|'[^'\n]*'| --.*|\b\w+ =(?!=)", re.MULTILINE)
"""Where a function's name is not a use of it: an include's mark, a string, a comment, an assignment's left side."""
_OLDER = "unexpected symbol near '#'"
"""What a server before version 7 replies to the first line with flags."""
PROMPT = frozenset({"enqueue"})
"""Scripts with a fast reply, for which the calling thread waits without other work."""
T = TypeVar("T")
ALLOW_OOM = "redis.call('DEL', KEYS[1] .. ':none')\n"
"""Replaces the flag on older servers, which permit writes after a write that needs no memory."""


def _read(path: str) -> str:
    try:
        return resources.files("queueops.redis").joinpath("lua", path).read_text(encoding="utf-8")
    except FileNotFoundError as error:  # an OSError, which elsewhere means that Redis is unreachable
        raise LookupError(f"the script {path} is missing from this installation of queueops") from error


def _set(name: str, members: tuple[str, ...]) -> str:
    return f"local {name} = {{ {', '.join(f'{state} = true' for state in members)} }}\n"


def _claimed() -> str:
    return ", ".join(f"['{phase}'] = '{state}'" for phase, state in states.CLAIMED_AS.items())


def _chunk_verbs() -> str:
    verbs = dict.fromkeys(verb for verbs in states.CHUNK_ACTIONS.values() for verb in verbs)
    rows = (
        f"{verb} = {{ {', '.join(f'{state} = true' for state in states.chunks_allowing(verb))} }}" for verb in verbs
    )
    return f"local CHUNK_ALLOWED = {{ {', '.join(rows)} }}\n"


def state_tables(body: str) -> str:
    """The Lua tables of the states, from ``queueops.model.states``: those that ``body`` mentions."""
    classes = ", ".join(f"{state} = '{kind}'" for state, kind in states.CLASSES.items())
    replaceable = tuple(dict.fromkeys(t.source for t in states.TRANSITIONS if t.verb == "push" and t.source))
    tables = {
        "CLASS": f"local CLASS = {{ {classes} }}\n",
        "STATES": f"local STATES = '{' '.join(states.CLASSES)} {states.ChunkState.ACTIVE}'\n",
        "CLAIMED_AS": f"local CLAIMED_AS = {{ {_claimed()} }}\n",
        "LEASED": _set("LEASED", (*states.LEASED, states.ChunkState.ACTIVE)),
        "TIMED": _set("TIMED", states.TIMED),
        "TERMINAL": _set("TERMINAL", states.TERMINAL),
        "REPLACEABLE": _set("REPLACEABLE", replaceable),
        "CHUNK_ALLOWED": _chunk_verbs(),
    }
    return "".join(text for name, text in tables.items() if re.search(rf"\b{name}\b", body))


def drop_unused(body: str) -> str:
    """Remove top-level functions without a call: each costs time in every run of the script."""
    while True:
        said = _uses(body)
        unused = [match for match in _FUNCTION.finditer(body) if said[match[1]] == _uses(match[0])[match[1]]]
        if not unused:
            return body
        for match in reversed(unused):
            body = body[: match.start()] + body[match.end() :]


def _uses(text: str) -> Counter[str]:
    return Counter(_WORD.findall(_NO_USE.sub("", text)))


def unbundled(text: str) -> str:
    """A script's text that names each include itself. A bundle is an include that only names others."""

    def named(match: re.Match[str]) -> str:
        names = _INCLUDE.findall(_read(f"include/{match[1]}.lua"))
        return unbundled("\n".join(f"--@include {name}" for name in names)) if names else match[0]

    return _INCLUDE.sub(named, text)


@functools.cache
def source(name: str, *, shebang: bool = True) -> str:
    """The whole text of a script. Without ``shebang`` for servers before version 7, which do not know that line."""
    text = unbundled(_read(f"{name}.lua"))
    first, _, body = text.partition("\n")
    body = _INCLUDE.sub(lambda match: lua_linker.marked(match[1], _read(f"include/{match[1]}.lua")), body)
    body = drop_unused(lua_linker.flattened(_COMMENT.sub("", body)))
    body = state_tables(body) + lua_linker.made_late(body)
    if shebang:
        return f"{first}\n{body}"
    return ALLOW_OOM + body if "allow-oom" in first else body


class Line(NamedTuple):
    """A connection of one thread to one server."""

    connection: Any
    spin_wait: SpinWait


class Scripts:
    """The scripts on the servers of a store: called by digest, and loaded again after NOSCRIPT."""

    def __init__(self, servers: OneServer | Cluster) -> None:
        """Bind the servers. An old server (before version 7) is detected when it is given its first script."""
        self._servers = servers
        self._shebang = True
        self._mine = threading.local()
        self._known: dict[str, tuple[str, str]] = {}

    def script(self, name: str) -> tuple[str, str]:
        """The digest and the text of a script."""
        known = self._known.get(name)
        if known is None:
            text = source(name, shebang=self._shebang)
            known = self._known[name] = (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
        return known

    def call(self, name: str, prefix: str, *arguments: Any) -> Any:
        """Run a script on a pool's keys."""
        digest, _ = self.script(name)
        try:
            return self._execute("EVALSHA", digest, 1, prefix, *arguments, soon=name in PROMPT)
        except NoScriptError:
            return self.load(name, lambda text: self._execute("EVAL", text, 1, prefix, *arguments))

    def load(self, name: str, call: Callable[[str], T]) -> T:
        """Return the reply of ``call`` for a script's text, in the form that this server understands."""
        _, text = self.script(name)
        try:
            return call(text)
        except ResponseError as error:
            if not (text.startswith("#!") and _OLDER in str(error)):
                raise
        self._shebang = False
        self._known = {}
        return call(self.script(name)[1])

    def _execute(self, *command: Any, soon: bool = False) -> Any:
        """Send one command on this thread's own connection: redis-py's pool costs as much as the call itself.

        ``soon`` says that the reply is fast enough to poll for it.
        """
        server = self._servers.name(command[3])
        left = deadlines.left()
        line = self._lines.get(server) or self._open(server, command[3], left)
        try:
            # redis-py's own packing takes three times as long
            line.connection.send_packed_command((hiredis.pack_command(command),), check_health=False)
            if soon:
                line.spin_wait.keep()
            return read_reply(line.connection, left)
        except BaseException as error:
            if not isinstance(error, ResponseError) or isinstance(error, ReadOnlyError):
                self._lines.pop(server).connection.disconnect()  # a late reply must not be taken for the next call's
            raise

    def close(self) -> None:
        """Close this thread's own connections; the next call opens a new one."""
        while self._lines:
            self._lines.popitem()[1].connection.disconnect()

    @property
    def _lines(self) -> dict[str, Line]:
        """The connections of this thread, by server."""
        return self._mine.__dict__

    def _open(self, server: str, key: str, left: float | None) -> Line:
        """Connect. If the caller's time is short, a connection with that timeout shows whether the server is alive."""
        client = self._servers.client(key)
        if left is not None:
            probe = own_connection(client, socket_timeout=left, socket_connect_timeout=left)
            probe.connect()
            probe.disconnect()
        connection = own_connection(client)
        connection.connect()
        line = self._lines[server] = Line(connection, SpinWait(socket_of(connection).fileno()))
        return line
